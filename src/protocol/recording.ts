/** The states of a recording of `/v1/recordings`. `failed`: the last attempt failed. */
export const RECORDING_STATES = ["waiting", "recording", "ended", "failed"] as const;

export type RecordingState = (typeof RECORDING_STATES)[number];
