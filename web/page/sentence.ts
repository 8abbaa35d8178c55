/** The service's messages as the pages show them. */
import { withoutHeaders } from "../chat/page-token.ts";
import { TOKEN } from "./own-service.ts";

/** The message as a sentence that its reader can act on. */
export function sentence(message: string): string {
  return withoutHeaders(message, TOKEN, "add #token=… at the end of this page’s address").replace(
    /\.?$/,
    ".",
  );
}
