"""How strongly a video was compressed: the quantiser of H.264, from 0 to 51, with which its encoder wrote each picture.

It is exact and cheap, and x264's rate factor (`crf`) is close to its mean. Bits per pixel say less: they count motion
and noise as well. Decoders of other codecs do not tell it, or on another scale.
"""

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import av

TOLD = {"export_side_data": "venc_params"}  # options of a decoder that make it tell the quantiser
CODEC = "h264"
HEAD = struct.Struct("@INNii")  # of FFmpeg's AVVideoEncParams: blocks, where they begin, the size of one, codec, base
KIND = "VIDEO_ENC_PARAMS"
H264 = 1  # AV_VIDEO_ENC_PARAMS_H264
OFFSET = 16  # bytes in a block before its difference from the base


def quantiser_of(picture: "av.VideoFrame") -> float | None:
    """The mean over the blocks of a picture; None where the decoder does not tell."""
    told: Any = picture.side_data.get(KIND)  # av knows more kinds than its types say
    if told is None:
        return None
    content = bytes(told)
    blocks, begin, size, codec, base = HEAD.unpack_from(content)
    if codec != H264:
        return None
    differences = np.ndarray((blocks,), np.int32, content, begin + OFFSET, (size,))
    return base + (float(differences.mean()) if blocks else 0.0)
