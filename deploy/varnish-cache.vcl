# Varnish as a cache for the logs of livechat-relay (docs/log.md): any number of readers that poll the log of a chat cost
# the service about one request for each batch of messages. Start the service with RELAY_TRUST_PROXY=1, and Varnish so:
#
#     varnishd -a :80 -f /etc/varnish/varnish-cache.vcl -s malloc,256m -p thread_pool_max=10000 -p rush_exponent=100000
#
# A reader that waits needs no thread, but two after 20 s without a message: thread_pool_max for each of the two pools
# must be above the number of readers. With a lower rush_exponent, most readers would then wait for some of them.
vcl 4.1;

import std;

backend default {
    .host = "127.0.0.1";
    .port = "8080";
    # The service answers a poll within RELAY_LONG_POLL_MS, at most 60 s.
    .first_byte_timeout = 70s;
    .between_bytes_timeout = 70s;
}

sub vcl_recv {
    if (req.url !~ "^/v1/log/") {
        return (synth(404));
    }
    # A log and its pages have one spelling each, so that nobody can pass the cache by another.
    if (req.url ~ "^/v1/log/" && req.url !~ "^/v1/log/[\w-]{11}(\?|$)") {
        return (synth(404));
    }
    if (req.url ~ "%") {
        return (synth(400));
    }
    set req.url = std.querysort(req.url);
    if (req.url !~ "[?&]live=.") {
        # An answer depends on the cursor with `live` alone.
        set req.url = regsub(regsub(req.url, "([?&])cursor=[^&]*&?", "\1"), "[?&]$", "");
    }
    # A token's answers belong to its bearer. A reader of events has a connection of its own, as with /v1/stream. A request
    # for the end of a log gets an answer that nobody else may have. Varnish would ask with GET for a HEAD that it may
    # keep, and so open the chat.
    if (req.method != "GET" || req.http.Authorization || req.url ~ "[?&](live=sse|offset=now|access_token=[^&]*)(&|$)") {
        return (pass);
    }
    # One request for all who wait at one place.
    return (hash);
}

sub vcl_hash {
    # Not by the host, which a reader chooses.
    hash_data(req.url);
    return (lookup);
}

sub vcl_backend_response {
    # What may be kept, and for how long, is what the service says. All who have waited for an answer that may not be kept
    # get a request of their own for the next 10 s: waits of both kinds together stay below the 45 s after which clients
    # give up.
    if (beresp.status != 200 || beresp.http.Cache-Control ~ "no-store|private") {
        set beresp.uncacheable = true;
        set beresp.ttl = 10s;
    }
    return (deliver);
}
