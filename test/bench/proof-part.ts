import type { Bench } from "./bench.ts";
import type { LoadProcess } from "./load.ts";
import { compare, median, type Comparison, type Rate } from "./measure.ts";
import { LoopProcess } from "./proof-loop.ts";
import { ProofStand } from "./proof-stand.ts";
import { waves } from "./proof-waves.ts";
import { cpuLine, throughputLine, type Line } from "./report.ts";
import type { RpcStandIn } from "./rpc-stand-in.ts";

const AT_ONCE = 64;
const PEER = "fetch + JSON.parse";
/** Limit of chain queries per proof. */
const PROOF_METHODS = ["getTransaction", "getSignatureStatuses"];
/** Limit of memory during a wave of proofs, MB per thousand. */
const HELD_MB = 60;
/** Limit of memory left by all waves but the first, MB. */
const LEFT_MB = 15;

/**
 * Proofs of payments against a loop that only fetches the transactions; and the memory of concurrent ones.
 */
export async function proofs({ world, plan, scale, profile, load: loadOf }: Bench): Promise<Line[]> {
  const stand = await ProofStand.start(world, profile);
  const bare = new LoopProcess("fetch", stand.node.url, world.treasuryOwner);
  const verifying = new LoopProcess("verify", stand.node.url, world.treasuryOwner);
  const load = loadOf("http");
  try {
    const signatures = (await stand.pay(scale.proofs)).map(({ txSignature }) => txSignature);
    const alone = await compare(verifying.side(signatures, AT_ONCE), bare.side(signatures, AT_ONCE), plan);
    const requests: number[] = [];
    const whole = await compare(
      async () => {
        const { rate, requestsPerProof } = await callOnce(stand, load, scale.proofs);
        requests.push(requestsPerProof);
        return rate;
      },
      async () =>
        bare.side(
          (await stand.pay(scale.proofs)).map(({ txSignature }) => txSignature),
          AT_ONCE,
        )(),
      plan,
    );
    return [
      ...linesOf("proof, verification alone", alone, 0.7, 1.4),
      ...linesOf("proof, the whole paid call", whole, 0.4, 3),
      requestsLine(Math.max(...requests)),
      ...(await memoryLines(stand, load, scale.proofsAtOnce, scale.proofWaves)),
    ];
  } finally {
    await Promise.allSettled([bare, verifying, stand].map((each) => each.stop()));
  }
}

/** Pays and proves that many calls; a sixth of them warms up. */
async function callOnce(
  stand: ProofStand,
  load: LoadProcess,
  count: number,
): Promise<{ rate: Rate; requestsPerProof: number }> {
  const { server } = stand.gateway;
  const calls = await stand.pay(count);
  const warm = Math.ceil(count / 6);
  const asked = await proofRequests(stand.node);
  await stand.send(load, calls.slice(0, warm), AT_ONCE);
  const cpu = await server.cpuSeconds();
  const ms = await stand.send(load, calls.slice(warm), AT_ONCE);
  const cpuSeconds = (await server.cpuSeconds()) - cpu;
  const measured = count - warm;
  return {
    rate: { perSecond: measured / (ms / 1000), cpuMicros: (cpuSeconds * 1_000_000) / measured },
    requestsPerProof: ((await proofRequests(stand.node)) - asked) / count,
  };
}

async function proofRequests(node: RpcStandIn): Promise<number> {
  const counts = await node.counts();
  return PROOF_METHODS.reduce((sum, method) => sum + (counts[method] ?? 0), 0);
}

function linesOf(measure: string, comparison: Comparison, atLeast: number, cpuAtMost: number): Line[] {
  return [
    throughputLine(measure, comparison, PEER, atLeast),
    ...cpuLine(measure, comparison, PEER, cpuAtMost),
  ];
}

function requestsLine(perProof: number): Line {
  return {
    measure: "proof: RPC requests",
    gateway: `${perProof.toFixed(3)} a proof`,
    peer: "1 a proof",
    value: perProof,
    bar: { atMost: 1 },
  };
}

/** Memory of running proofs, and memory left by waves of them. */
async function memoryLines(
  stand: ProofStand,
  load: LoadProcess,
  size: number,
  count: number,
): Promise<Line[]> {
  // A thousand proofs pile up before a node that takes a second for an answer.
  await stand.node.setDelay(size);
  const { seen, left } = (await waves(stand, load, { count, size })) ?? { seen: [], left: 0 };
  const last = seen.at(-1);
  // The median: the first of them begins with a heap that has just been collected, and has its garbage
  // besides.
  const held = median(seen.map(({ before, peak }) => peak - before));
  if (!last || held === undefined) return [];
  return [
    {
      measure: `proofs under way, ${size} at once: memory held`,
      gateway: `${held.toFixed(0)} MB, after ${last.ms.toFixed(0)} ms`,
      peer: `${HELD_MB} MB a thousand`,
      value: held / ((HELD_MB * size) / 1000),
      bar: { atMost: 1 },
    },
    {
      measure: `proofs under way, ${size} at once: memory left after ${seen.length} waves`,
      gateway: `${left.toFixed(0)} MB`,
      peer: `${LEFT_MB} MB`,
      value: Math.max(0, left) / LEFT_MB,
      bar: { atMost: 1 },
    },
  ];
}
