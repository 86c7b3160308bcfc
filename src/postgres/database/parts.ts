import type { Pool } from "pg";
import type { Clock, Random } from "../../domain/core/clock.ts";
import type { Log } from "../../domain/core/log.ts";
import type { Notifications } from "./notifications.ts";

/** What stores and background work take most often. */
export interface Parts {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly notifications: Notifications;
  /** A new UUID per process start: the owner of its runs and of the leadership. */
  readonly instanceId: string;
  /** How long a run may lack a heartbeat before another instance releases it, ms. */
  readonly leaseMs: number;
}
