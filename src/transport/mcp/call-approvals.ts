import { LimitReachedError } from "../../app/calls/call-errors.ts";
import type { Approvals } from "../../app/oauth/approvals.ts";
import { shownText } from "../../domain/accounts/oauth-client.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import { displayUsd } from "../../domain/core/money.ts";
import type { Pipeline } from "../pipeline.ts";
import type { RequestContext } from "../request-context.ts";
import { answerOf, inputRequired, opensUrls } from "./elicitation.ts";
import type { McpExchange } from "./exchange.ts";
import type { Message } from "./json-rpc.ts";
import type { Era, Result } from "./revision.ts";

/** How long a repeated call waits for the decision, ms: less than the 60 s after which clients give up. */
const WAIT_MS = 25_000;

/** Characters of the parameters that are shown. */
const SHOWN_PARAMS = 1_000;

interface AskingCall {
  readonly message: Message;
  readonly params: JsonObject;
  readonly era: Era;
  readonly exchange: Pick<McpExchange, "record" | "headers" | "version" | "elicitation"> & {
    readonly context: Pick<RequestContext, "signal" | "requestId">;
  };
  readonly pipeline: Pick<Pipeline, "failure">;
}

/** An open request of an application. */
interface Asked {
  readonly id: string;
  readonly isNew: boolean;
}

/** Lets account holders decide on calls of applications that a limit refuses (MCP, Elicitation, URL mode). */
export class CallApprovals {
  readonly #approvals: Pick<Approvals, "ask" | "settled">;
  readonly #urlOf: (id: string) => string;
  readonly #waitMs: number;

  constructor(
    approvals: Pick<Approvals, "ask" | "settled">,
    urlOf: (id: string) => string,
    waitMs: number = WAIT_MS,
  ) {
    this.#approvals = approvals;
    this.#urlOf = urlOf;
    this.#waitMs = waitMs;
  }

  /**
   * Returns the result of a call, or what asks for it. A repeated call waits for the decision and goes on.
   * @throws LimitReachedError with the address for clients that open none, and what the call throws
   */
  async result(asking: AskingCall, call: () => Promise<Result>): Promise<Result> {
    // The decision that was waited for may be too late, or a higher limit still too low: one more try each.
    for (let tries = 0; ; tries++) {
      try {
        return await call();
      } catch (error) {
        if (!(error instanceof LimitReachedError) || !error.isLiftable) throw error;
        const asked = await this.#ask(asking, error);
        if (!asked) throw error;
        if (asked.state === "refused") throw error.with("refused");
        const goesOn = asked.state === "allowed" || (await this.#isSettled(asking, asked, tries));
        if (!goesOn || tries > 1) return this.#request(asking, asked, error);
      }
    }
  }

  #ask({ params }: AskingCall, { call: { caller, tool, price, fingerprint } }: LimitReachedError) {
    if (!fingerprint) return undefined;
    const text = shownText(JSON.stringify(params));
    const short = text.length > SHOWN_PARAMS ? `${text.slice(0, SHOWN_PARAMS)}…` : text;
    const { keyId } = caller;
    return this.#approvals.ask({ keyId, tool, params: short.toWellFormed(), price, fingerprint });
  }

  async #isSettled(
    { message, era, exchange }: AskingCall,
    { id, isNew }: Asked,
    tries: number,
  ): Promise<boolean> {
    const isRepeated = era === "modern" ? answerOf(message) === "accept" : !isNew;
    if (!isRepeated || tries > 0 || !opensUrls(message, era, exchange)) return false;
    return this.#approvals.settled(id, this.#waitMs, exchange.context.signal);
  }

  #request(asking: AskingCall, { id, isNew }: Asked, error: LimitReachedError): Result {
    const { message, era, exchange, pipeline } = asking;
    const url = this.#urlOf(id);
    const answer = answerOf(message);
    const refused = error.with({ url });
    if (!opensUrls(message, era, exchange) || answer === "decline") throw refused;
    const { tool, price } = error.call;
    const page = {
      url,
      message: `${tool} costs ${displayUsd(price)}, more than a limit allows. Decide here`,
    };
    if (era === "modern") {
      pipeline.failure(refused, exchange.context.requestId, exchange.record);
      // The person has the page open: the client only has to repeat the call.
      return inputRequired(id, answer === "accept" && !isNew ? undefined : page);
    }
    exchange.elicitation = { mode: "url", elicitationId: id, ...page };
    throw refused;
  }
}
