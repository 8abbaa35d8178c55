/**
 * The chats of a merged connection. The chat of a video enters its room, and enters it again after a failure
 * that may pass, or if the room is closed without an end. The chats of a channel follow one another.
 */

import { ERRORS } from "../protocol/errors.ts";
import { type ChannelPlace, laterOf, mergedIdOf } from "../protocol/merged-id.ts";
import type { WatchedChannel } from "../rooms/channels/broadcasts.ts";
import { type ChannelParts, type ChannelRequest, ChannelViewer } from "./channel-viewer.ts";
import { ChatWriter } from "./chat-writer.ts";
import type { Multiplex } from "./multiplex.ts";
import {
  type ChatRequest,
  type MultiplexParts,
  MultiplexViewer,
  type VisitOutcome,
} from "./multiplex-viewer.ts";
import { SentVideos } from "./sent-videos.ts";

interface MergedChat {
  request: ChatRequest;
  writer: ChatWriter;
}

interface Merged {
  requests: readonly ChatRequest[];
  watches: readonly { watch: WatchedChannel; resume: ChannelPlace | undefined }[];
  /** What all channels are asked for. */
  ofChannels: Omit<ChannelRequest, "resume">;
  /** The openings of the videos, which count by themselves once they have begun. */
  reserved: Disposable;
}

/**
 * Reads several chats on one connection. Resolves when all of them, or the connection, are over; then it
 * disposes of `owned`.
 */
export async function readMerged(
  multiplex: Multiplex,
  { requests, watches, ofChannels, reserved }: Merged,
  parts: Omit<ChannelParts, "watch">,
  owned: Disposable,
): Promise<void> {
  using _ = owned;
  const id = () =>
    mergedIdOf({
      cursors: chats.map(({ writer }) => laterOf(writer.cursor, sent.cursorOf(writer.videoId))),
      places: channels.map(({ place }) => place),
    });
  const chats: MergedChat[] = requests.map((request) => ({
    request,
    writer: new ChatWriter(request.videoId, request.lastEventId, multiplex, id),
  }));
  const sent = new SentVideos(
    requests.map(({ videoId }) => videoId),
    watches.map(({ resume }) => resume),
  );
  const channels = watches.map(({ watch, resume }) => {
    const connection = { sent, id, names: { channel: watch.channel } };
    return new ChannelViewer(multiplex, { ...ofChannels, resume }, { ...parts, watch }, connection);
  });
  try {
    const read = channels.map((channel) => channel.run());
    const readAlone = async (chat: MergedChat) => {
      const outcome = await readChat(multiplex, chat, parts);
      if (outcome) sent.release(chat.writer, outcome);
    };
    await parts.rooms.slices.each(chats, (chat) => read.push(readAlone(chat)));
    reserved[Symbol.dispose]();
    await Promise.all(read);
  } catch (error) {
    parts.toRelayError(error); // a bug of ours, which this logs; the client comes back
  }
  multiplex.end();
}

/** Resolves to the end or the error that the chat was sent last; to undefined if the connection is over. */
async function readChat(
  multiplex: Multiplex,
  { request, writer }: MergedChat,
  parts: MultiplexParts,
): Promise<VisitOutcome | undefined> {
  const { videoId } = request;
  const { events, gone } = multiplex;
  using viewer = new MultiplexViewer(multiplex, parts);
  while (!gone.aborted) {
    const outcome = await viewer.visit(writer, request, gone);
    const refusal = outcome instanceof Error ? parts.toRelayError(outcome) : undefined;
    if (outcome && !refusal) return outcome;
    if (refusal) {
      const mayPass = ERRORS[refusal.code].retry === "relay";
      // After its `init`, a client takes an error for the end of the chat. And what will be said again is
      // not buffered for a client that does not read.
      const isSilent = mayPass && (writer.isBegun || multiplex.isBackPressured);
      if (!isSilent) multiplex.write(events.event("error", { videoId, ...refusal.body }));
      if (!mayPass) return outcome;
    }
    using _ = refusal && parts.rooms.openings.expectAgain(request.address());
    await viewer.pause(refusal, gone);
  }
  return undefined;
}
