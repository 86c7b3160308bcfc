import { setTimeout as sleep } from "node:timers/promises";
import { STAND_IN_MODEL } from "../../src/dev/inference-stand-in/answer.ts";
import { wrongChat } from "./chat-answer.ts";
import { post, type Call, type Reply } from "./client.ts";
import type { Dice } from "./seeded-random.ts";
import type { Customer, Ground } from "./environment.ts";
import type { Reference } from "./reference.ts";
import type { Tally } from "./tally.ts";

/** Price of the calls, micro-USD. */
export const PRICE = 1_000n;

/** Maximum time until a call must be decided, ms, despite all faults; the default. */
const PATIENCE_MS = 120_000;

/** How long customers wait before they retry at another instance, ms. */
const WAITS = [300, 1_200, 3_000, 15_000];

/** Maximum age of a payment that a fork removes, ms: half the time to finality. */
const FORKED_MS = 1_600;

/** Lifetime of quotes, s, set on the instances. */
export const QUOTE_TTL_SECONDS = 10;

/** A quote and its call. */
export interface Quoted {
  readonly call: Call;
  readonly quoteId: string;
  /** The most that the call costs, micro-USD. */
  readonly price: bigint;
  readonly stepId: string;
}

/** Sends the customers' calls to any instance until the outcome is definite, and records it. */
export class Market {
  readonly ground: Ground;
  readonly reference: Reference;
  readonly tally: Tally;
  readonly payTo: string;
  readonly #targets: () => readonly (string | undefined)[];
  readonly #keys: string;
  readonly #patienceMs: number;
  #lastNumber = 0;
  readonly #later: { name: string; due: number; act: () => Promise<void> }[] = [];

  constructor(options: {
    ground: Ground;
    reference: Reference;
    tally: Tally;
    payTo: string;
    targets: () => readonly (string | undefined)[];
    keys: string;
    /** Default: two minutes. */
    patienceMs?: number;
  }) {
    this.ground = options.ground;
    this.reference = options.reference;
    this.tally = options.tally;
    this.payTo = options.payTo;
    this.#targets = options.targets;
    this.#keys = options.keys;
    this.#patienceMs = options.patienceMs ?? PATIENCE_MS;
  }

  /** A number unique within the run. */
  number(): number {
    return ++this.#lastNumber;
  }

  /** A unique paid call, recognisable by its result. */
  estimate(number = this.number()): Call {
    return {
      tool: "vram_estimate",
      params: { model: "llama-3.1-8b", context_length: 1 + (number % 131_072) },
    };
  }

  /** A unique chat, recognisable by its answer. @param server what the model's server does */
  chat(server: "answers" | "breaks off" = "answers"): Call {
    const messages = [{ role: "user", content: `chat ${this.number()} ${server}` }];
    return { tool: "inference_chat", params: { model: STAND_IN_MODEL.id, messages, max_tokens: 60 } };
  }

  key(number = this.number()): string {
    return `${this.#keys}-${number}`;
  }

  /** Schedules a task for the next customer who plays that scenario; tasks not due at the end are dropped. */
  later(name: string, ms: number, act: () => Promise<void>): void {
    this.#later.push({ name, due: performance.now() + ms, act });
  }

  /** Takes a due task of a scenario. */
  due(name: string): (() => Promise<void>) | undefined {
    const index = this.#later.findIndex((one) => one.name === name && one.due < performance.now());
    return index < 0 ? undefined : this.#later.splice(index, 1)[0]?.act;
  }

  /** A customer with its own account. */
  async newcomer(): Promise<Customer> {
    for (;;) {
      const customer = await this.ground.customer(0n).catch(() => sleep(500));
      if (!customer) continue; // the database is away
      this.reference.open(customer);
      return customer;
    }
  }

  /**
   * Pays the treasury.
   * @param owner the account whose quote the memo names
   */
  async pay(payer: Customer, amount: bigint, memo: string, owner: Customer | undefined): Promise<string> {
    const sentAt = performance.now();
    const tx = await this.ground.chain.pay(payer.wallet, this.payTo, amount, memo);
    this.reference.paid(tx, amount, owner, sentAt);
    this.tally.count("payments");
    return tx;
  }

  /** Removes a payment from the chain unless it may be finalized. */
  async drop(tx: string): Promise<void> {
    const { chain } = this.ground;
    const sentAt = this.reference.sentAt(tx);
    if (performance.now() - sentAt > FORKED_MS || !(await chain.drop(tx, sentAt))) return;
    this.reference.dropped(tx);
    this.tally.count("forks");
  }

  /** Sends a call once to any instance. */
  async once(
    dice: Dice,
    customer: Customer,
    call: Call,
    ms: number,
    at?: number,
  ): Promise<Reply | undefined> {
    const target = this.#target(dice, at);
    if (target === undefined) return undefined;
    this.tally.count("requests");
    const reply = await post(target, customer, call, { ms });
    this.tally.answered(reply ? `${reply.status} ${reply.body.code ?? ""}`.trim() : "no answer");
    if (reply) this.#note(customer, call, reply);
    return reply;
  }

  /**
   * Retries a call until its outcome is definite, with the same key or proof, at any instance.
   * @param at the instance of the first try
   * @returns undefined when it never was: a violation
   */
  async insist(dice: Dice, customer: Customer, call: Call, at?: number): Promise<Reply | undefined> {
    const since = performance.now();
    let last: Reply | undefined;
    for (let turn = 0; performance.now() - since < this.#patienceMs; turn++) {
      // Retrying without a pause would overload a busy service.
      const waitMs = Math.max(dice.pick(WAITS), Math.min(500 * turn, 5_000));
      last = await this.once(dice, customer, call, waitMs, turn === 0 ? at : undefined);
      if (last && !isPassing(last)) return last;
      await sleep(dice.between(20, last ? 400 : 100));
    }
    this.tally.violated("a call that is repeated comes to an end", {
      ...named(customer, call),
      last: last?.body,
    });
    return undefined;
  }

  #target(dice: Dice, at: number | undefined): string | undefined {
    const targets = this.#targets();
    const open = targets.filter((target) => target !== undefined);
    return (
      (at === undefined ? undefined : targets[at % targets.length]) ??
      (open.length > 0 ? dice.pick(open) : undefined)
    );
  }

  #note(customer: Customer, call: Call, reply: Reply): void {
    if (reply.status === 200) {
      this.tally.count("acknowledged");
      if (call.tool === "inference_chat") this.tally.count("metered");
      if (customer.apiKey === undefined) this.tally.count("keyless");
      if (call.openai === "streamed") this.tally.count("streamed");
      const differs = this.reference.sold(customer, call, reply);
      if (differs)
        this.tally.violated("a repeated call gets the same answer", { ...named(customer, call), ...differs });
      const wrong = wrongSale(call, reply);
      if (wrong !== undefined)
        this.tally.violated("an answer is that of its call, and charged at its price", {
          ...named(customer, call),
          wrong,
          reply: reply.body,
        });
    } else if (this.reference.wasSold(customer, call) && !isPassing(reply)) {
      this.tally.violated("a repeated call gets its result again", {
        ...named(customer, call),
        reply: reply.body,
      });
    }
    if (reply.body.code === "INTERNAL")
      this.tally.violated("no fault is an internal error", { ...named(customer, call), reply: reply.body });
  }
}

/** Whether the response requests a retry without a decision. */
function isPassing({ status, body }: Reply): boolean {
  if ([202, 409, 429, 503].includes(status) || (status === 500 && body.code === "TOOL_FAILED")) return true;
  return status === 402 && body.message?.includes("is not on the chain yet") === true;
}

function wrongSale({ tool, params }: Call, { body }: Reply): string | undefined {
  if (tool === "inference_chat") return wrongChat(params, body);
  if (tool === "echo") {
    const message = "message" in params ? params.message : undefined;
    return body.result?.["echo"] === message ? undefined : "another call's result";
  }
  const { inputs } = body.result ?? {};
  const reported =
    typeof inputs === "object" && inputs !== null && "context_length" in inputs ? inputs.context_length : 0;
  if (!("context_length" in params) || reported !== params.context_length) return "another call's result";
  return body.receipt?.debited_usdc_microusd === Number(PRICE) ? undefined : "another amount, or no receipt";
}

/** Identifies a call in a report. */
export function named({ accountId }: Customer, { tool, key, proof }: Call): object {
  return { account: accountId, tool, ...(key !== undefined && { key }), ...(proof && { tx: proof.tx }) };
}
