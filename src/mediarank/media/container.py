"""Open clips and sounds with PyAV: only self-contained formats, and only from the file itself.

FFmpeg also reads play lists, scripts and subtitles, some of which make it open other files or the network. A
collection may come from anywhere, so the allowed demuxers and protocols are listed here and all others refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import av

from mediarank.media.faults import blame_machine, faults_of_file, require_memory, words_of
from mediarank.media.files import File, Slice
from mediarank.media.limits import Limits
from mediarank.media.sniff import not_media, read_head
from mediarank.types import MediaError

_DEMUXERS: Final = (
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpeg,mpegts,asf,flv,ogg,mxf,ivf,dv,"
    "wav,w64,mp3,flac,aac,aiff,au,caf,amr,ac3,eac3,ape,tta,wv"
)
_DECODERS: Final = (
    "h264,hevc,av1,libdav1d,vp8,vp9,libvpx,libvpx-vp9,vp6,vp6f,mpeg1video,mpeg2video,mpeg4,msmpeg4v1,msmpeg4v2,msmpeg4,"
    "msmpeg4v3,h263,flv,theora,wmv1,wmv2,wmv3,vc1,mjpeg,prores,dnxhd,dvvideo,ffv1,huffyuv,rawvideo,png,apng,gif,cinepak,"
    "svq3,aac,aac_latm,mp1,mp1float,mp2,mp2float,mp3,mp3float,ac3,eac3,dca,vorbis,opus,libopus,flac,alac,wmav1,wmav2,"
    "wmapro,wmalossless,amrnb,amrwb,ape,tta,wavpack,gsm,gsm_ms,adpcm_ms,adpcm_ima_wav,adpcm_ima_qt,pcm_s8,pcm_u8,"
    "pcm_s16le,pcm_s16be,pcm_s24le,pcm_s24be,pcm_s32le,pcm_s32be,pcm_f32le,pcm_f32be,pcm_f64le,pcm_f64be,pcm_alaw,"
    "pcm_mulaw,pcm_bluray,pcm_dvd"
)
"""FFmpeg has hundreds of decoders, most of them for old games, and each can have its own security faults."""


_SUBFILE: Final = "subfile,,"
"""FFmpeg's protocol for a part of a file."""


@contextmanager
def open_container(path: File, limits: Limits) -> Iterator[Any]:
    """An `av.container.InputContainer` of a file within the limits; errors inside are blamed on the file."""
    limits.check_file(path)
    options = {
        "protocol_whitelist": "file,subfile",
        "format_whitelist": _DEMUXERS,
        "codec_whitelist": _DECODERS,
        "max_pixels": str(limits.max_pixels),
    }
    try:
        container = av.open(_address(path), options=options, metadata_errors="ignore")
    except (av.FFmpegError, ValueError) as error:
        blame_machine(error, path)
        if isinstance(error, MemoryError):
            require_memory()
        raise MediaError(_refusal(path, error)) from None
    with container, faults_of_file(path):
        yield container


def _address(file: File) -> Any:
    """What FFmpeg opens. The protocol is named, because a file name that starts with "http:" would choose another."""
    if isinstance(file, Slice):
        return f"{_SUBFILE}start,{file.offset},end,{file.offset + file.length},,:file:{file.shard}"
    return f"file:{file}" if isinstance(file, Path) else file.open()


def _file_of(address: str) -> Path | None:
    """The file on disk behind an address; None for one in memory."""
    inner = address.partition(",,:")[2] if address.startswith(_SUBFILE) else address
    return Path(inner.removeprefix("file:")) if inner.startswith("file:") else None


def video_stream(container: Any) -> Any | None:
    """The video stream, if any; not the cover of a sound file, nor a stream without a known decoder."""
    for stream in container.streams.video:
        if _is_known(stream) and not stream.disposition & av.stream.Disposition.attached_pic:
            return stream
    return None


def audio_stream(container: Any) -> Any | None:
    return next((stream for stream in container.streams.audio if _is_known(stream)), None)


def _is_known(stream: Any) -> bool:
    """Whether its decoder is on the list. FFmpeg respects the list when it probes a file; PyAV would open any."""
    return stream.codec_context is not None and stream.codec_context.codec.name in _DECODERS.split(",")


def declared_seconds(container: Any, stream: Any | None = None) -> float:
    """The length that the header gives for a stream, or else for the whole file; 0 if it gives none."""
    if stream is not None and stream.duration and stream.time_base:
        return max(0.0, float(stream.duration * stream.time_base))
    return max(0.0, float(container.duration or 0) / float(av.time_base))


@dataclass
class Damage:
    """What one pass over a file had to skip.

    packets : number of packets that could not be decoded
    cut_off : whether the file ended before its declared end
    """

    packets: int = 0
    cut_off: bool = False


def read_packets(container: Any, streams: tuple[Any, ...], damage: Damage) -> Iterator[Any]:
    """The packets of some streams, in the file's order, up to its end or to where it can't be read further."""
    try:
        for packet in container.demux(*streams):
            if packet.size:  # empty packets at the end only serve to flush the decoder
                yield packet
    except av.FFmpegError as error:
        blame_machine(error, _file_of(str(container.name)))
        damage.cut_off = True


def decode_packet(stream: Any, packet: Any | None, damage: Damage) -> list[Any]:
    """The frames that a packet completes (None: all that the decoder still holds); empty if it is damaged."""
    try:
        return list(stream.codec_context.decode(packet))
    except av.FFmpegError:
        damage.packets += 1
        return []


def _refusal(path: File, error: Exception) -> str:
    head = read_head(path)
    if head[4:8] in (b"ftyp", b"moov", b"mdat") or head[:4] in (b"RIFF", b"OggS", b"fLaC", b"\x1a\x45\xdf\xa3"):
        return f"Its header can't be read ({words_of(error)}); the file is damaged or cut off."
    return not_media(path, head)
