/** The cost of a kind of call by batch size: `fixed + perBatch / batch`, milliseconds of CPU. */
interface CallCost {
  readonly fixed: number;
  readonly perBatch: number;
}

/** The cost of a kind of call: in total, and in the gateway's process, which uses one core. */
export interface Costs {
  readonly all: CallCost;
  readonly gateway: CallCost;
}

/** Scales the costs by the share of processor time stolen by other machines. */
export function withStolenTime(stolen: number, { all, gateway }: Costs): Costs {
  const longer = ({ fixed, perBatch }: CallCost) => ({
    fixed: fixed / (1 - stolen),
    perBatch: perBatch / (1 - stolen),
  });
  return { all: longer(all), gateway: longer(gateway) };
}

/** A machine and what runs on it. */
export interface Site {
  /** Cores for all that is in the costs. */
  readonly cores: number;
  /** Disk wait of a durable commit, ms. */
  readonly commitMs: number;
  readonly instances: number;
  /** Batches of paid calls that an instance has under way at once, at most. */
  readonly batchesAtOnce: number;
  /** Calls under way at once, over all instances. */
  readonly connections: number;
}

/** Sequential durable commits of a paid call: authorize and capture. */
const COMMITS = 2;

/** Cost at a batch size, ms. */
export function costAt({ fixed, perBatch }: CallCost, batch: number): number {
  return fixed + perBatch / batch;
}

/** Fits the cost by least squares in the reciprocal batch size; no part is negative. */
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
 * Paid calls per second: the lower bound of all cores and of each instance. The batches in progress are the
 * customers of a closed network. For all cores, these are its one queue; for an instance, its thread is one
 * queue with one batch at a time, and the other cores are another. Several cores count as one of the same
 * speed, plus a delay for the part that one batch cannot use (Seidmann's approximation). Commits of several
 * batches share a flush of the log, so the disk is a delay and no queue.
 * @param perBatch connections per call in a batch: the others wait for the next one, or for their response
 */
export function paidPerSecond({ all, gateway }: Costs, perBatch: number, site: Site): number {
  const { cores, commitMs, instances, batchesAtOnce, connections } = site;
  const batch = batchSize(perBatch, site);
  const workMs = (cost: CallCost) => (batch * costAt(cost, batch)) / COMMITS;
  const [work, thread] = [workMs(all), workMs(gateway)];
  const [others, rest] = [Math.max(1, cores - 1), Math.max(0, work - thread)];
  const together = throughput(
    [work / cores],
    work - work / cores + commitMs,
    Math.min(batchesAtOnce * instances, connections),
  );
  const alone = throughput(
    [thread, rest / others],
    rest - rest / others + commitMs,
    Math.min(batchesAtOnce, connections),
  );
  return (Math.min(together, instances * alone) * batch * 1000) / COMMITS;
}

/**
 * Throughput of a closed network by mean value analysis.
 * @param queues service demands at stations with one server
 * @param delay service time of each station without waiting
 */
function throughput(queues: readonly number[], delay: number, customers: number): number {
  let waiting = queues.map(() => 0);
  let rate = 0;
  for (let customer = 1; customer <= customers; customer++) {
    const residence = queues.map((demand, station) => demand * (1 + (waiting[station] ?? 0)));
    rate = customer / residence.reduce((sum, time) => sum + time, delay);
    waiting = residence.map((time) => rate * time);
  }
  return rate;
}

/** Calls in a batch: each batch collects the calls that arrive during the one before. */
export function batchSize(perBatch: number, { instances, connections }: Site): number {
  return Math.max(1, connections / instances / perBatch);
}

/**
 * Uncommitted calls per second: all cores are busy, or each gateway uses one. Rate limits are queried in
 * batches as large as the connections per instance.
 */
export function freePerSecond({ all, gateway }: Costs, { cores, instances, connections }: Site): number {
  const batch = connections / instances;
  return Math.min(cores / costAt(all, batch), instances / costAt(gateway, batch)) * 1000;
}
