"""Images, clips and sounds: the only package that opens media files.

From the file inwards: `limits` says how much a file may ask for, `sniff` what its first bytes are, `container` opens
clips and sounds safely, `probe` reads headers. `image`, `clip` (with `timeline` and `shots`) and `sound` decode.
`working` knows the small copies that features read, `frames` makes them from an original, and `guard` runs any of
this in child processes, so that a decoder that crashes or hangs costs one file.
"""
