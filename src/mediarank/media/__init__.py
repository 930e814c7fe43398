"""Images, clips and sounds: the only package that opens media files.

`files` is a file to decode, wherever its bytes are; `shards` stores many in a few large files. From the file inwards:
`limits` bounds what a file may need, `sniff` recognises its first bytes, `container` opens
clips and sounds safely, `probe` reads headers, `exif` what a camera wrote, `description` and `xmp` what people wrote.
`image` (with `jpeg`, `raw`), `clip` (with `timeline`, `shots`) and `sound` decode. `working` knows the small copies
that features read, `frames` makes them from an original, `copy_cache` caches them, and `guard` runs any of this in
child processes (`guarded_child`, `confine`), so that a decoder that crashes or hangs costs one file only.
"""
