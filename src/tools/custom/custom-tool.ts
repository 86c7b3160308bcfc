import { type JsonObject, isJsonObject, setMember, type JsonValue } from "../../domain/core/json.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { Scope } from "../../domain/accounts/scope.ts";
import type { CheckedFor, PreparedCall, Tool, ToolContext } from "../../domain/tools/tool.ts";
import { ToolgateError, invalidField, fieldPath } from "../../domain/core/errors.ts";
import { LoopTimer } from "../../loop-time.ts";
import type { Backend, BackendAnswer, BackendDescription } from "./backend.ts";
import { callFailed, unavailable, failedAfterWork } from "./failure.ts";
import { secretsOfHeader } from "./headers.ts";
import { ParameterCheck } from "./parameter-check.ts";
import type { Price } from "./price.ts";
import type { Meter } from "./meter.ts";
import {
  descriptionProblem,
  holdsSecret,
  MAX_RESULT_DEPTH,
  MAX_RESULT_BYTES,
  sizeOf,
} from "./result-check.ts";
import { quotedDescription, withShortTexts } from "./seller-words.ts";
import type { CustomToolSettings } from "./settings.ts";
import { omitted } from "./omitted.ts";
import {
  NOT_DESCRIBED,
  unavailableBecause,
  UnusableDescriptionError,
  UnusableSettingError,
} from "./unavailable.ts";

/** Bytes of JSON. All schemas share one listing. */
const MAX_SCHEMA_BYTES = 128 * 1024;

/** Time for another instance to take over during shutdown. */
const SHUTDOWN_RETRY_SECONDS = 5;

interface Described {
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly check: ParameterCheck;
}

interface Parts {
  readonly meter?: Meter | undefined;
  readonly fault?: UnusableSettingError | undefined;
}

/** A custom tool. Unavailable until its backend has described itself. */
export class CustomTool implements Tool {
  readonly #settings: CustomToolSettings;
  readonly #backend: Backend;
  readonly #price: Price;
  readonly #meter: Meter | undefined;
  readonly #secrets: readonly string[];
  #described: Described | undefined;
  readonly #fault: UnusableSettingError | undefined;
  #unavailable = NOT_DESCRIBED;

  /** @param fault of the settings, which makes the tool unavailable */
  constructor(settings: CustomToolSettings, backend: Backend, price: Price, { meter, fault }: Parts = {}) {
    this.#settings = settings;
    this.#backend = backend;
    this.#price = price;
    this.#meter = meter;
    this.#fault = fault;
    this.#secrets = Object.values(settings.headers).flatMap(secretsOfHeader);
  }

  get name(): string {
    return this.#settings.name;
  }
  get status(): Tool["status"] {
    return this.#described ? "active" : "coming_soon";
  }
  get unavailableReason(): string | undefined {
    return this.#described ? undefined : this.#unavailable.reason;
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
  get maxParamsBytes(): number {
    return this.#settings.maxParamsBytes;
  }
  get fixedPrice(): MicroUsd | undefined {
    return this.#price.fixed;
  }
  get maxPrice(): MicroUsd | undefined {
    return this.#price.ceiling;
  }

  /** Describes the tool and makes it available. @throws Error with a message for the operator */
  async describe(signal: AbortSignal): Promise<void> {
    try {
      const described = await this.#backend.describe(signal);
      const usable = this.#usable(described);
      if (this.#fault) throw this.#fault;
      this.#described = usable;
    } catch (error) {
      if (error instanceof UnusableDescriptionError) this.#backend.forget?.();
      this.#unavailable = unavailableBecause(this.#fault ?? error);
      throw error;
    }
  }

  /** @throws UnusableDescriptionError; UnusableSettingError where the description shows it */
  #usable(described: BackendDescription): Described {
    const { description, inputSchema } = described;
    try {
      this.#meter?.describe(described);
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      throw new UnusableSettingError("meter.field", problem.replace(/^meter\.field: /, ""));
    }
    if (JSON.stringify(inputSchema).length > MAX_SCHEMA_BYTES)
      throw new UnusableDescriptionError(
        `the schema of its parameters is longer than ${MAX_SCHEMA_BYTES} bytes`,
      );
    const quoted = description === undefined ? this.name : quotedDescription(description);
    const own = this.#settings.description?.toWellFormed() ?? quoted;
    const words = this.#meter ? `${own}\n${this.#meter.description}` : own;
    const problem = descriptionProblem({ description: words, inputSchema }, this.#secrets);
    if (problem !== undefined) throw new UnusableDescriptionError(problem);
    const check = checkOf(inputSchema);
    const priceless = this.#price.problemWith?.(check.schema);
    if (priceless !== undefined) throw new UnusableSettingError("price.expression", priceless);
    return { description: words, inputSchema: withShortTexts(check.schema), check };
  }

  prepare(params: JsonObject): PreparedCall {
    const { check, text } = this.#bounded(params);
    check.check(params, text);
    return this.#priced(params);
  }

  prepareFor(params: JsonObject, by: CheckedFor | undefined): PreparedCall | Promise<PreparedCall> {
    const { check, text } = this.#bounded(params);
    const checking = check.checkFor(by, params, text);
    return checking ? checking.then(() => this.#priced(params)) : this.#priced(params);
  }

  #bounded(params: JsonObject): { readonly check: ParameterCheck; readonly text: string } {
    if (!this.#described)
      throw new ToolgateError(
        "TOOL_UNAVAILABLE",
        `tool: ${this.name} is listed but cannot be called: ${this.#unavailable.reason}`,
      );
    const text = requireBounded(params, this.#settings.maxResponseBytes);
    return { check: this.#described.check, text };
  }

  #priced(params: JsonObject): PreparedCall {
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

function checkOf(inputSchema: JsonObject): ParameterCheck {
  try {
    return new ParameterCheck(inputSchema);
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : String(cause);
    throw new UnusableDescriptionError(`the schema of its parameters cannot be used: ${problem}`, { cause });
  }
}

/** Returns a result that every transport can deliver, with placeholders: the call is still charged. */
export function deliverable(result: JsonObject): JsonObject {
  if (fits(result, MAX_RESULT_DEPTH)) return result;
  const fit: JsonObject = {};
  for (const [name, value] of Object.entries(result))
    setMember(fit, name.toWellFormed(), fitted(value, MAX_RESULT_DEPTH - 1));
  return fits(fit, MAX_RESULT_DEPTH)
    ? fit
    : omitted("too_long", `the answer is longer than ${MAX_RESULT_BYTES} bytes`, bytesOf(result));
}

function fits(value: JsonValue, levels: number): boolean {
  const size = sizeOf(value, levels);
  return size !== undefined && size <= MAX_RESULT_BYTES;
}

function fitted(value: JsonValue, levels: number): JsonValue {
  if (typeof value === "string" && !value.isWellFormed())
    return omitted("not_json", "the text has a lone surrogate", Buffer.byteLength(value));
  if (typeof value === "number" && !Number.isFinite(value))
    return omitted("not_json", "the number is not finite", null);
  if (typeof value !== "object" || value === null) return value;
  // A placeholder for a member would need one more level.
  if (levels === 1 && sizeOf(value, levels) === undefined)
    return omitted("too_deep", `the answer nests deeper than ${MAX_RESULT_DEPTH} levels`, bytesOf(value));
  if (Array.isArray(value)) return value.map((item) => fitted(item, levels - 1));
  if (!isJsonObject(value)) return null;
  const fit: JsonObject = {};
  for (const [name, member] of Object.entries(value))
    setMember(fit, name.toWellFormed(), fitted(member, levels - 1));
  return fit;
}

/** Bytes as JSON; null if it nests too deeply to serialise. */
function bytesOf(value: JsonValue): number | null {
  try {
    return Buffer.byteLength(JSON.stringify(value));
  } catch {
    return null;
  }
}

/** Below the limit of results, so that a server can echo the parameters. */
const MAX_PARAMETER_DEPTH = 24;

/** Returns parameters as JSON that can be echoed in a result. @throws ToolgateError INVALID_REQUEST */
function requireBounded(params: JsonObject, maxResponseBytes: number): string {
  for (const [member, value] of Object.entries(params)) {
    if (sizeOf(value, MAX_PARAMETER_DEPTH - 1) === undefined)
      throw invalidField(
        fieldPath([member]),
        `must not nest deeper than ${MAX_PARAMETER_DEPTH} levels with params`,
      );
  }
  const most = Math.floor(maxResponseBytes / 2);
  const size = sizeOf(params, MAX_PARAMETER_DEPTH) ?? 0;
  const text = JSON.stringify(params);
  if (size > MAX_RESULT_BYTES / 2 || Buffer.byteLength(text) > most)
    throw invalidField(
      "params",
      `must not be longer than ${most} bytes as JSON, or ${MAX_RESULT_BYTES / 2} as protobuf`,
    );
  return text;
}
