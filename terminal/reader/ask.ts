/** Asks a service for one answer, apart from the SDK. */
import { ChatError } from "../../client/index.ts";
import { asObject, asString } from "../../src/base/json.ts";
import { isErrorCode } from "../../src/protocol/errors.ts";
import { type Access, authorization } from "./sent-token.ts";

/**
 * The JSON of the answer, which must have the array `list`; without `list`, any answer will do. Rejects with
 * `ChatError`, like the SDK's calls, with the signal's reason, and if the token cannot be read.
 */
export async function ask<Answer>(
  { server, token }: Access,
  path: string,
  request: { method?: string; signal: AbortSignal },
  list?: keyof Answer & string,
): Promise<Answer> {
  const { ok, status, text } = await answerOf(`${server}${path}`, {
    ...request,
    headers: await authorization(token),
  });
  const answer = asObject(parsed(text));
  if (ok && (list === undefined || Array.isArray(answer?.[list]))) return answer as Answer;
  const [code, message] = [asString(answer?.code), asString(answer?.message)];
  if (isErrorCode(code) && message !== undefined) throw new ChatError(code, message, { status });
  throw new ChatError("HTTP", "The answer is not the service's", { status });
}

async function answerOf(url: string, request: RequestInit & { signal: AbortSignal }) {
  try {
    const response = await fetch(url, request);
    return { ok: response.ok, status: response.status, text: await response.text() };
  } catch (error) {
    request.signal.throwIfAborted();
    throw new ChatError("NETWORK", `${new URL(url).host} cannot be reached`, { cause: error });
  }
}

/** The value of a JSON text of any size; undefined if the text is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
