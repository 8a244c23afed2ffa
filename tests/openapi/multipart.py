"""Multipart bodies (RFC 7578), as far as uploads need them."""

import hashlib

BOUNDARY = "kedge-example-boundary"


def written(members: dict[str, str]) -> tuple[bytes, str]:
    """A body with these members, and its media type; `file` is the part with the bytes."""
    body = b""
    for name, text in members.items():
        filename = '; filename="upload"' if name == "file" else ""
        head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{filename}\r\n\r\n'
        body += head.encode() + text.encode() + b"\r\n"
    return body + f"--{BOUNDARY}--\r\n".encode(), f"multipart/form-data; boundary={BOUNDARY}"


def read(body: bytes, media_type: str) -> dict[str, bytes]:
    """The members of a body. Raises ValueError if there are none."""
    if "boundary=" not in media_type:
        raise ValueError("no boundary")
    boundary = b"--" + media_type.split("boundary=")[1].split(";")[0].strip('"').encode()
    members = {}
    for part in (b"\r\n" + body).split(b"\r\n" + boundary)[1:]:
        head, mark, content = part.partition(b"\r\n\r\n")
        if not mark:
            continue
        fields = head.decode("utf-8", "replace").split("\r\n")
        disposition = next((field for field in fields if field.lower().startswith("content-disposition")), "")
        for parameter in disposition.split(";"):
            key, _, value = parameter.strip().partition("=")
            if key in ("name", "filename"):
                value = value.strip('"').replace("%22", '"').replace("%0D", "\r").replace("%0A", "\n")
                members[f" {key}" if key == "filename" else value] = value.encode() if key == "filename" else content
    if "file" not in members:
        raise ValueError("no file")
    members.setdefault("name", members.pop(" filename", b""))
    return members


def sha256(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()
