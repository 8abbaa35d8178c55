#!/bin/sh
# Prints a chat as JSON, over restarts of the service and of this script. Needs only curl.
#
#     sh examples/follow.sh http://127.0.0.1:8080 demo-stream
service=$1 video=$2 file=$2.last-id
while :; do
  last=$(cat "$file" 2>/dev/null) # empty: from the most recent messages on
  curl -sSfN -H "Last-Event-ID: $last" "$service/v1/stream?videoId=$video" | {
    while IFS= read -r line; do
      case $line in
        'id: '*) id=${line#id: } ;;
        'event: '*) event=${line#event: } ;;
        'data: '*)
          if [ "$event" = end ]; then exit 3; fi
          if [ "$event" = message ]; then
            printf '%s %s\n' "$id" "${line#data: }"
            # After the message is handled, and at once: a kill leaves the old id or the new one.
            echo "$id" >"$file.new" && mv "$file.new" "$file"
          fi ;;
      esac
    done
  }
  if [ $? -eq 3 ]; then exit; fi # the chat is over
  sleep 3
done
