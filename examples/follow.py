"""Prints a chat, over restarts of the service and of this program. Needs only Python's standard library.

    python3 examples/follow.py http://127.0.0.1:8080 demo-stream
"""
import http.client, json, pathlib, sys, time, urllib.error, urllib.parse, urllib.request


def frames(lines):
    """The frames of a stream as dictionaries; `lines` are bytes that end at line feeds."""
    frame = {}
    for line in lines:
        name, _, value = line.rstrip(b"\n").partition(b": ")
        if name:
            frame[name.decode()] = value
        elif frame and not value:  # an empty line ends a frame; ": keepalive" is a comment
            yield frame
            frame = {}


def messages(service, video, cursor=None):
    """Yields (cursor, message) from after the cursor on, until the chat is over. Reconnects by itself."""
    query = urllib.parse.urlencode({"videoId": video, "details": "true"})
    while True:
        request = urllib.request.Request(f"{service}/v1/stream?{query}")
        if cursor is not None:
            request.add_header("Last-Event-ID", str(cursor))
        wait = 3
        try:
            with urllib.request.urlopen(request, timeout=45) as stream:  # a keepalive comes every 15 s
                for frame in frames(stream):
                    event, data = frame.get("event"), json.loads(frame.get("data", b"{}"))
                    if event == b"init":
                        if cursor not in (None, data["cursor"]):
                            print("messages may be missing after", cursor, file=sys.stderr)
                        cursor = data["cursor"]
                    elif event == b"message":
                        cursor = int(frame["id"])
                        yield cursor, data
                    elif event == b"end":
                        return
                    elif event == b"error":  # the service cannot read the chat any more
                        wait = 30
        except urllib.error.HTTPError as error:
            if error.code < 500 and error.code not in (408, 429):
                raise
            wait = int(error.headers.get("Retry-After", wait))
        except (OSError, http.client.HTTPException):
            pass  # the connection broke: resume
        time.sleep(wait)


if __name__ == "__main__":
    service, video = sys.argv[1:]
    file, new = pathlib.Path(f"{video}.cursor"), pathlib.Path(f"{video}.cursor.new")
    last = int(file.read_text()) if file.exists() else None
    for cursor, message in messages(service, video, last):
        print(cursor, message["author"], message["message"], flush=True)
        new.write_text(str(cursor))  # after the message is handled
        new.replace(file)  # at once: a kill leaves the old cursor or the new one
