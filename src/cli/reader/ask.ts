/** Asks a service for one answer, apart from the SDK. */
import { ChatError } from "../../../client/index.ts";
import type { ErrorBody } from "../../protocol/errors.ts";

/**
 * The JSON of the answer; undefined if it has none. Rejects with `ChatError`, like the SDK's calls, and with
 * the signal's reason.
 */
export async function ask<Answer>(
  server: string,
  path: string,
  request: RequestInit & { signal: AbortSignal },
): Promise<Answer> {
  try {
    const response = await fetch(`${server}${path}`, request);
    const text = await response.text();
    const answer = text === "" ? undefined : JSON.parse(text);
    if (response.ok) return answer as Answer;
    const { code, message } = answer as ErrorBody;
    throw new ChatError(code, message, { status: response.status });
  } catch (error) {
    if (request.signal.aborted || error instanceof ChatError) throw error;
    throw new ChatError("NETWORK", `${new URL(server).host} cannot be reached`, { cause: error });
  }
}
