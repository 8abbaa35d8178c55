@rem cmd.exe has no `exec`, which the npm scripts need elsewhere so that a signal reaches the service and not a shell.
@%*
