/** What a kind of call costs, as a function of how many are committed at once: `fixed + perBatch / batch`, milliseconds of CPU. */
interface CallCost {
  readonly fixed: number;
  readonly perBatch: number;
}

/** The same work where other machines take a share of the processor time: all of it lasts longer. */
export function beside(stolen: number, { fixed, perBatch }: CallCost): CallCost {
  return { fixed: fixed / (1 - stolen), perBatch: perBatch / (1 - stolen) };
}

/** A machine and what runs on it. */
export interface Site {
  /** Cores for all that is in the costs. */
  readonly cores: number;
  /** What a durable commit waits for the disk, ms. */
  readonly commitMs: number;
  readonly instances: number;
  /** Batches of paid calls that an instance has under way at once, at most. */
  readonly batchesAtOnce: number;
  /** Calls under way at once, over all instances. */
  readonly connections: number;
}

/** Transactions on disk that a paid call goes through one after the other: its beginning and its end. */
const COMMITS = 2;

/** What a cost is at a batch size, ms. */
export function costAt({ fixed, perBatch }: CallCost, batch: number): number {
  return fixed + perBatch / batch;
}

/** The cost that fits measurements best, each at its batch size (least squares in the reciprocal of that). Never falls below nothing for a part of it. */
export function costThrough(points: readonly { batch: number; ms: number }[]): CallCost {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [at, ms] = [points.map(({ batch }) => 1 / batch), points.map((point) => point.ms)];
  const [middle, usual] = [mean(at), mean(ms)];
  const spread = mean(at.map((x) => (x - middle) ** 2));
  const steepness = spread === 0 ? 0 : mean(at.map((x, n) => (x - middle) * ((ms[n] ?? 0) - usual))) / spread;
  const perBatch = Math.max(0, steepness);
  return { fixed: Math.max(0, usual - perBatch * middle), perBatch };
}

/**
 * Paid calls per second. The batches of beginnings and of endings that the instances have under way are the customers of a closed
 * network of two stations, all cores and the disk, which is solved by mean value analysis. Several cores are one that is as fast, and
 * a delay for what one batch cannot use of them (Seidmann's approximation). Commits of several batches share a flush of the log, so the
 * disk is a delay, and no queue.
 * @param perBatch how many connections there are for each call in a batch: the others wait for the next one, or for their answer
 */
export function paidPerSecond(cost: CallCost, perBatch: number, site: Site): number {
  const { cores, commitMs, instances, batchesAtOnce, connections } = site;
  const batch = batchSize(perBatch, site);
  const workMs = (batch * costAt(cost, batch)) / COMMITS;
  const queued = workMs / cores;
  const delay = workMs - queued + commitMs;
  const customers = Math.min(batchesAtOnce * instances, connections);
  let [waiting, perMs] = [0, 0];
  for (let customer = 1; customer <= customers; customer++) {
    const atCores = queued * (1 + waiting);
    perMs = customer / (atCores + delay);
    waiting = perMs * atCores;
  }
  return (perMs * batch * 1000) / COMMITS;
}

/** Calls in a batch: batches form themselves, of what comes while the one before is under way. */
export function batchSize(perBatch: number, { instances, connections }: Site): number {
  return Math.max(1, connections / instances / perBatch);
}

/**
 * Calls per second that are not committed: all cores are at work, or every gateway keeps one busy. Their rate limits are asked for in
 * batches, too, which are as large as there are connections to an instance.
 * @param gateway the gateway's part of the cost
 */
export function freePerSecond(cost: CallCost, gateway: CallCost, { cores, instances, connections }: Site): number {
  const batch = connections / instances;
  return Math.min(cores / costAt(cost, batch), instances / costAt(gateway, batch)) * 1000;
}
