/**
 * A poll in the upstream's format: opened, updated a few times while votes arrive, closed, and its result
 * announced.
 */
import type { Spoken } from "./banners.ts";
import type { JsonObject } from "./plain-json.ts";
import type { Random } from "./random.ts";
import { divided } from "./runs.ts";
import { says } from "./says.ts";
import * as words from "./words.ts";

export class Poll {
  readonly #id: string;
  readonly #channel: string;
  readonly #question: string;
  readonly #votes: { text: string; count: number }[];
  readonly #random: Random;
  #updatesLeft: number;
  #state: "new" | "open" | "closed" = "new";

  constructor(id: string, channel: string, random: Random) {
    this.#id = id;
    this.#channel = channel;
    this.#random = random;
    this.#question = random.pick(words.QUESTIONS);
    this.#votes = random.pick(words.ANSWERS).map((text) => ({ text, count: 0 }));
    this.#updatesLeft = 2 + random.below(3);
  }

  /** The next action; undefined when the poll is closed and only its result is left. */
  step(): Spoken | undefined {
    if (this.#state === "closed") return undefined;
    if (this.#state === "new") {
      this.#state = "open";
      return this.#spoken(this.#open());
    }
    if (this.#updatesLeft > 0) {
      this.#updatesLeft -= 1;
      // One answer may get hardly any votes.
      for (const vote of this.#votes) vote.count += this.#random.below(this.#random.chance(0.2) ? 2 : 400);
      return this.#spoken({
        updateLiveChatPollAction: { pollToUpdate: { pollRenderer: this.#renderer(true) } },
      });
    }
    this.#state = "closed";
    const closing = { targetPanelId: this.#id, skipOnDismissCommand: true };
    return this.#spoken({ closeLiveChatActionPanelAction: closing });
  }

  /** The runs of the notice that announces the result. */
  result(): JsonObject[] {
    const lines = this.#votes.flatMap(({ text, count }) => [
      { text: "\n" },
      { text: `${text} (${Math.round(this.#ratio(count) * 100)}%)` },
    ]);
    return [{ text: this.#question, bold: true }, ...lines];
  }

  /** An action that changes the votes or closes the poll is another version of the poll. */
  #spoken(action: JsonObject): Spoken {
    const isCounted = "updateLiveChatPollAction" in action || this.#state === "closed";
    const version = JSON.stringify([this.#state, isCounted, this.#votes.map(({ count }) => count)]);
    return { action, says: { ...says("poll", `poll:${this.#id}`, "", this.#question), version } };
  }

  #open(): JsonObject {
    const contents = { pollRenderer: this.#renderer(false) };
    const panel = { contents, id: this.#id, targetId: "live-chat-action-panel" };
    return { showLiveChatActionPanelAction: { panelToShow: { liveChatActionPanelRenderer: panel } } };
  }

  #total(): number {
    return this.#votes.reduce((sum, { count }) => sum + count, 0);
  }

  #ratio(count: number): number {
    return count / Math.max(1, this.#total());
  }

  #renderer(counted: boolean): JsonObject {
    const choices = this.#votes.map(({ text, count }) => {
      const ratio = this.#ratio(count);
      const rounded = Math.round(ratio * 100);
      const percent = rounded === 0 && count > 0 ? "<1%" : `${rounded}%`;
      const shown = { voteRatio: ratio, votePercentage: { simpleText: percent } };
      return { text: { runs: [{ text }] }, selected: false, ...(counted && shown) };
    });
    const parts = [
      this.#channel,
      " • ",
      "1 minute ago",
      " • ",
      `${this.#total().toLocaleString("en-US")} votes`,
    ];
    const header = {
      pollQuestion: { runs: [{ text: this.#question }] },
      metadataText: divided(
        parts.map((text) => ({ text })),
        this.#random,
      ),
      liveChatPollType: "LIVE_CHAT_POLL_TYPE_CREATOR",
    };
    return { choices, liveChatPollId: this.#id, header: { pollHeaderRenderer: header } };
  }
}
