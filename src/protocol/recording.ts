/**
 * The states of a recording of `/v1/recordings`. `waiting`: there is no chat yet, or no stream. `failed`: the
 * last attempt failed, at a page of the channel or at a chat.
 */
export const RECORDING_STATES = ["waiting", "recording", "ended", "failed"] as const;

export type RecordingState = (typeof RECORDING_STATES)[number];
