"""Prints a chat, over restarts of the service and of this program. Needs only Python's standard library.

    python3 examples/follow.py http://127.0.0.1:8080 demo-stream

Takes the id of a video, or a channel: @handle or UC….
"""
import http.client, json, os, pathlib, re, sys, time, urllib.error, urllib.parse, urllib.request


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


def reason(error):
    """The `message` of the service's answer; a proxy's answer has none."""
    try:
        return json.load(error)["message"]
    except (ValueError, TypeError, KeyError):
        return str(error)


def messages(service, name, last=None):
    """Yields (id, message) from after the id on, until the chat is over. Reconnects by itself."""
    is_channel = re.match(r"@|c/|user/|UC.{22}$", name)
    query = urllib.parse.urlencode({"channel" if is_channel else "videoId": name, "details": "true"})
    trouble = None
    while True:
        request = urllib.request.Request(f"{service}/v1/stream?{query}")
        if last is not None:
            request.add_header("Last-Event-ID", last)
        wait = 3
        try:
            with urllib.request.urlopen(request, timeout=45) as stream:  # a keepalive comes every 15 s
                for frame in frames(stream):
                    event, data = frame.get("event"), json.loads(frame.get("data", b"{}"))
                    if event == b"init":
                        video = f"{data['videoId']}." if is_channel else ""  # a channel has many videos
                        begin = f"{video}{data['cursor']}"
                        if last not in (None, "0") and last.startswith(video) and last != begin:
                            print("messages may be missing after", last, file=sys.stderr)
                        last, trouble = begin, None
                    elif event == b"message":
                        last = frame["id"].decode()
                        yield last, data
                    elif event == b"end":
                        return
                    elif event == b"error":  # the service cannot read the chat any more
                        print(data["message"], file=sys.stderr)
                        wait = 30
        except urllib.error.HTTPError as error:
            if error.code < 500 and error.code not in (408, 429):
                sys.exit(reason(error))
            print(reason(error), file=sys.stderr)
            wait = int(error.headers.get("Retry-After", wait))
        except (OSError, http.client.HTTPException) as error:  # the connection broke: resume
            if trouble is None:
                print(f"{service}: {error}; trying again", file=sys.stderr)
            trouble = error
        time.sleep(wait)


if __name__ == "__main__":
    if len(sys.argv) != 3 or not re.match("https?://", sys.argv[1]):
        sys.exit("usage: python3 follow.py http://127.0.0.1:8080 <video id or channel>")
    service, name = sys.argv[1:]
    path = name.replace("/", "-")
    file, new = pathlib.Path(f"{path}.last-id"), pathlib.Path(f"{path}.last-id.new")
    last = file.read_text().strip() or None if file.exists() else None
    try:
        for last, message in messages(service, name, last):
            print(last, message["author"], message["message"], flush=True)
            new.write_text(last)  # after the message is handled
            new.replace(file)  # at once: a kill leaves the old id or the new one
    except KeyboardInterrupt:
        pass
    except BrokenPipeError:  # nobody reads on, as after `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes it at its exit
