/** Hears the events that the service reports; they go into its log and metrics all the same. */

/** Calls `then` after each call of the method `name`, with the same arguments. */
export function whenever<Name extends PropertyKey, Event extends (...args: never[]) => void>(
  events: { [name in NoInfer<Name>]: Event },
  name: Name,
  then: NoInfer<Event>,
): void {
  const report = events[name];
  events[name] = ((...args) => {
    report.apply(events, args);
    then(...args);
  }) as Event;
}
