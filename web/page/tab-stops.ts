/** Groups of controls of which Tab reaches one: the arrow keys lead to the others. */

/** Makes one element of the group its stop. Without one, Tab passes the group by. */
export function setTabStop(group: readonly HTMLElement[], stop: HTMLElement | undefined): void {
  for (const each of group) {
    const tabIndex = each === stop ? 0 : -1;
    if (each.tabIndex !== tabIndex) each.tabIndex = tabIndex;
  }
}

/** Moves the focus by `step` elements, and returns whether the group has one there. */
export function moveFocus(group: readonly HTMLElement[], from: HTMLElement, step: number): boolean {
  const next = group[group.indexOf(from) + step];
  if (!next) return false;
  setTabStop(group, next);
  next.focus();
  return true;
}

/** Gives the focus to the first of the elements that can be seen. */
export function focusFirstSeen(...elements: (HTMLElement | null | undefined)[]): void {
  elements
    .find((each) => each?.checkVisibility({ visibilityProperty: true }))
    ?.focus({ preventScroll: true });
}
