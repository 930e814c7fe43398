"""The things that concepts name, and their look-alikes: where each stands, how high it is, how it is drawn.

Every prop varies in colour, pose and make each time it is drawn. Heights are shares of the picture's shorter side.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mediarank.collections.demo.elements.scenery import rock
from mediarank.collections.demo.elements.townscape import signboard
from mediarank.collections.demo.elements.vehicles import bicycle, boat, bus, train, truck
from mediarank.collections.demo.props.cast import Prop
from mediarank.collections.demo.props.far import balloon, birds, bridge, fireworks, lighthouse, rainbow, windmill
from mediarank.collections.demo.props.lookalikes import (
    aeroplane,
    bench,
    buoy,
    bush,
    chimney,
    contrail,
    cow,
    cushion,
    haystack,
    kite,
    lantern,
    mirror,
    pipeline,
    searchlight,
    statue,
    turbine,
)
from mediarank.collections.demo.props.near import campfire, cat, clock, flag, horse, plant, snowman, tent, umbrella

PROPS: Final[Mapping[str, Prop]] = {
    prop.word: prop
    for prop in (
        Prop("boat", "water", 0.28, boat, tilt=0.05),
        Prop("bus", "road", 0.40, bus),
        Prop("lighthouse", "span", 0.46, lighthouse),
        Prop("balloon", "sky", 0.46, balloon, tilt=0.05),
        Prop("birds", "sky", 0.22, birds, tilt=0.2),
        Prop("rainbow", "sky", 0.30, rainbow),
        Prop("windmill", "span", 0.48, windmill),
        Prop("tent", "ground", 0.30, tent),
        Prop("campfire", "ground", 0.19, campfire),
        Prop("horse", "ground", 0.38, horse),
        Prop("umbrella", "ground", 0.42, umbrella, tilt=0.12),
        Prop("bridge", "span", 0.40, bridge),
        Prop("bicycle", "ground", 0.28, bicycle),
        Prop("flag", "ground", 0.62, flag),
        Prop("fireworks", "sky", 0.19, fireworks),
        Prop("train", "span", 0.18, train),
        Prop("clock", "wall", 0.24, clock),
        Prop("plant", "ground", 0.38, plant),
        Prop("cat", "ground", 0.40, cat),
        Prop("snowman", "ground", 0.52, snowman),
    )
}

LOOKALIKES: Final[Mapping[str, Prop]] = {
    prop.word: prop
    for prop in (
        Prop("buoy", "water", 0.16, buoy, tilt=0.15),
        Prop("truck", "road", 0.34, truck),
        Prop("chimney", "span", 0.36, chimney),
        Prop("kite", "sky", 0.22, kite, tilt=0.4),
        Prop("aeroplane", "sky", 0.09, aeroplane, tilt=0.3),
        Prop("contrail", "sky", 0.14, contrail, tilt=0.2),
        Prop("turbine", "span", 0.38, turbine),
        Prop("haystack", "ground", 0.16, haystack),
        Prop("boulder", "ground", 0.18, rock),
        Prop("lantern", "ground", 0.12, lantern),
        Prop("cow", "ground", 0.19, cow),
        Prop("bush", "ground", 0.22, bush),
        Prop("pipeline", "span", 0.14, pipeline),
        Prop("bench", "ground", 0.16, bench),
        Prop("sign", "ground", 0.36, signboard),
        Prop("searchlight", "sky", 0.25, searchlight),
        Prop("mirror", "wall", 0.2, mirror),
        Prop("statue", "ground", 0.34, statue),
        Prop("cushion", "ground", 0.14, cushion),
    )
}
