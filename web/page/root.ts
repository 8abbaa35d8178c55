/**
 * What the page has once for each chat. Its elements are made from one template, and the parts of one chat
 * are found within its root by `data-part`.
 */
import { find } from "../chat/dom.ts";

/** The new root of a chat. The parts have their names as ids, followed by `suffix`. */
export function newRoot(suffix = ""): HTMLElement {
  const template = find("#chat-template", HTMLTemplateElement);
  const copy = document.importNode(template.content, true);
  for (const part of copy.querySelectorAll<HTMLElement>("[data-part]"))
    part.id = `${part.dataset.part}${suffix}`;
  return find("[data-part=column]", HTMLElement, copy);
}

/** The part of the chat that has this name. Throws if there is none of this class. */
export function partOf<E extends Element>(root: HTMLElement, name: string, type: new () => E): E {
  return find(`[data-part="${name}"]`, type, root);
}
