/**
 * The events of the service, by what they concern. Each has one method, which writes the log line and updates
 * the metrics; its file declares both. No call site knows a metric's name. Ids go into the log, and metrics
 * have few labels. Neither contains a token, a key or a viewer's address.
 */
import type { Registry } from "prom-client";
import { AccessEvents } from "./access-events.ts";
import { ActionEvents } from "./action-events.ts";
import { ChannelEvents } from "./channel-events.ts";
import type { Logger } from "./logger.ts";
import type { Marker } from "./marks.ts";
import { MetricMakers } from "./metric-makers.ts";
import { RecordingEvents } from "./recording-events.ts";
import { RequestEvents } from "./request-events.ts";
import { RoomEvents } from "./room-events.ts";
import { ServiceEvents } from "./service-events.ts";
import { StoreEvents } from "./store-events.ts";
import { UpstreamEvents } from "./upstream-events.ts";
import { ViewerEvents } from "./viewer-events.ts";

export class Telemetry {
  readonly log: Logger;
  /** Called when a rare branch is taken. */
  mark: Marker = () => {};
  readonly makers = new MetricMakers();
  readonly registry: Registry = this.makers.registry;
  readonly service: ServiceEvents;
  readonly upstream: UpstreamEvents;
  readonly actions: ActionEvents;
  readonly rooms: RoomEvents;
  readonly channels: ChannelEvents;
  readonly recordings: RecordingEvents;
  readonly viewers: ViewerEvents;
  readonly requests: RequestEvents;
  readonly access: AccessEvents;
  readonly store: StoreEvents;

  constructor(log: Logger) {
    this.log = log;
    this.service = new ServiceEvents(log, this.makers);
    this.upstream = new UpstreamEvents(log, this.makers);
    this.actions = new ActionEvents(log, this.makers);
    this.rooms = new RoomEvents(log, this.makers);
    this.channels = new ChannelEvents(log, this.makers);
    this.recordings = new RecordingEvents(log, this.makers);
    this.viewers = new ViewerEvents(log, this.makers);
    this.requests = new RequestEvents(log, this.makers);
    this.access = new AccessEvents(log);
    this.store = new StoreEvents(log, this.makers);
  }
}
