import type { JsonObject } from "../../domain/core/json.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { Scope } from "../../domain/accounts/scope.ts";
import type { PreparedCall, Tool, ToolContext } from "../../domain/tools/tool.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { LoopTimer } from "../../loop-time.ts";
import type { Backend, BackendAnswer } from "./backend.ts";
import { callFailed, unavailable, failedAfterWork } from "./failure.ts";
import { secretsOfHeader } from "./headers.ts";
import { ParameterCheck } from "./parameter-check.ts";
import type { Price } from "./price.ts";
import { requireBounded } from "./parameter-bounds.ts";
import { deliverable } from "./deliverable.ts";
import type { Meter } from "./meter.ts";
import { descriptionProblem, holdsSecret } from "./result-check.ts";
import type { CustomToolSettings } from "./settings.ts";

/** Bytes of JSON. All schemas share one listing. */
const MAX_SCHEMA_BYTES = 128 * 1024;

/** Characters. */
const MAX_DESCRIPTION_LENGTH = 4_000;

/** Time for another instance to take over during shutdown. */
const SHUTDOWN_RETRY_SECONDS = 5;

interface Described {
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly check: ParameterCheck;
}

/** A custom tool. Unavailable until its backend has described itself. */
export class CustomTool implements Tool {
  readonly #settings: CustomToolSettings;
  readonly #backend: Backend;
  readonly #price: Price;
  readonly #meter: Meter | undefined;
  readonly #secrets: readonly string[];
  #described: Described | undefined;

  constructor(settings: CustomToolSettings, backend: Backend, price: Price, meter?: Meter) {
    this.#settings = settings;
    this.#backend = backend;
    this.#price = price;
    this.#meter = meter;
    this.#secrets = Object.values(settings.headers).flatMap(secretsOfHeader);
  }

  get name(): string {
    return this.#settings.name;
  }
  get status(): Tool["status"] {
    return this.#described ? "active" : "coming_soon";
  }
  get billable(): boolean {
    return this.#price.billable;
  }
  get metered(): boolean {
    return this.#meter !== undefined;
  }
  get description(): string {
    return this.#described?.description ?? this.#settings.description ?? this.name;
  }
  get scope(): Scope {
    return this.#settings.scope;
  }
  get inputSchema(): JsonObject {
    return this.#described?.inputSchema ?? { type: "object" };
  }
  get fixedPrice(): MicroUsd | undefined {
    return this.#price.fixed;
  }

  /**
   * Describes the tool through its backend and makes it available.
   * @throws Error with a message for the operator
   */
  async describe(signal: AbortSignal): Promise<void> {
    const described = await this.#backend.describe(signal);
    const { description, inputSchema } = described;
    this.#meter?.describe(described);
    if (JSON.stringify(inputSchema).length > MAX_SCHEMA_BYTES)
      throw new Error(`the schema of its parameters is longer than ${MAX_SCHEMA_BYTES} bytes`);
    const own = (this.#settings.description ?? description ?? this.name)
      .slice(0, MAX_DESCRIPTION_LENGTH)
      .toWellFormed();
    const words = this.#meter ? `${own}\n${this.#meter.description}` : own;
    const problem = descriptionProblem({ description: words, inputSchema }, this.#secrets);
    if (problem !== undefined) throw new Error(problem);
    this.#described = { description: words, inputSchema, check: new ParameterCheck(inputSchema) };
  }

  prepare(params: JsonObject): PreparedCall {
    if (!this.#described)
      throw new ToolgateError("TOOL_UNAVAILABLE", `tool: ${this.name} is listed but cannot be called yet`);
    requireBounded(params, this.#settings.maxResponseBytes);
    this.#described.check.check(params);
    this.#backend.check?.(params);
    const price = this.#price.of(params);
    return { price, run: (context) => this.#run(params, price, context) };
  }

  async #run(params: JsonObject, price: MicroUsd, context: ToolContext): Promise<JsonObject> {
    const { idempotencyKey, signal: stopping, meter, span } = context;
    const overdue = new AbortController();
    const deadline = new LoopTimer(this.#settings.timeoutMs, () => overdue.abort());
    let answer: BackendAnswer;
    try {
      answer = await this.#backend.call(params, {
        signal: AbortSignal.any([stopping, overdue.signal]),
        idempotencyKey,
        span,
      });
    } catch (error) {
      throw this.#failure(error, stopping, overdue.signal);
    } finally {
      deadline.clear();
    }
    const fit = deliverable(answer.result);
    if (holdsSecret(JSON.stringify(fit), this.#secrets))
      throw failedAfterWork(this.name, "the server's answer repeats a secret header", undefined);
    if (this.#meter) meter?.(this.#meter.charge(answer, params, price));
    return fit;
  }

  /** The backend receives only an aborted signal; this method has the reason. */
  #failure(error: unknown, stopping: AbortSignal, deadline: AbortSignal): ToolgateError {
    if (stopping.aborted)
      return unavailable(this.name, "the service is shutting down", SHUTDOWN_RETRY_SECONDS, error);
    if (deadline.aborted)
      return failedAfterWork(
        this.name,
        `the server did not answer within ${this.#settings.timeoutMs / 1000} s`,
        error,
      );
    if (error instanceof ToolgateError) return error;
    return callFailed(this.name, "the server returned no usable answer", error);
  }
}
