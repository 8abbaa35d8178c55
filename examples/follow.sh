#!/bin/sh
# Prints a chat as JSON, over restarts of the service and of this script. Needs only curl.
#
#     sh examples/follow.sh http://127.0.0.1:8080 demo-stream
case $#$1 in
  2http*) ;;
  *) echo "usage: sh follow.sh http://127.0.0.1:8080 <video id>" >&2; exit 2 ;;
esac
service=$1 video=$2 name=$(printf %s "$2" | tr -c 'A-Za-z0-9_\n-' -) # a URL has slashes
file=$name.last-id pipe=$name.pipe.$$
trap 'kill "$curl" 2>/dev/null' EXIT # no reader outlives this script
trap exit INT TERM HUP PIPE
while :; do
  last=$(cat "$file" 2>/dev/null) # empty: from the most recent messages on
  rm -f "$pipe" && mkfifo "$pipe" || exit 1
  # A keepalive comes every 15 s: curl leaves a connection that brings nothing for 45 s.
  curl -sSN --speed-limit 1 --speed-time 45 -w '\nstatus: %{http_code}\n' \
    -H "Last-Event-ID: $last" -G --data-urlencode "videoId=$video" "$service/v1/stream" >"$pipe" &
  curl=$! status='' answer=''
  exec 3<"$pipe" && rm -f "$pipe"
  while IFS= read -r line <&3; do
    case $line in
      'id: '*) id=${line#id: } ;;
      'event: '*) event=${line#event: } ;;
      'status: '*) status=${line#status: } ;;
      'data: '*)
        if [ "$event" = end ]; then exit; fi # the chat is over
        if [ "$event" = message ]; then
          printf '%s %s\n' "$id" "${line#data: }" 2>/dev/null || exit 1 # nobody reads on
          # After the message is handled, and at once: a kill leaves the old id or the new one.
          echo "$id" >"$file.new" && mv "$file.new" "$file"
        elif [ "$event" = error ]; then echo "${line#data: }" >&2; fi ;; # it cannot be read now
      '{'*) answer=$line ;; # of a refusal: {"code":"…","message":"…"}
    esac
  done
  if [ -n "$answer" ]; then echo "$answer" >&2; fi
  case $status in
    408 | 429) ;; # worth another try, as 5xx and a broken connection are
    4??) exit 1 ;;
  esac
  sleep 3
done
