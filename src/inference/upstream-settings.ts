import { isIP } from "node:net";
import type { ChatModel } from "../domain/chat.ts";
import { mayConnect, type Network } from "../outbound/address-guard.ts";
import { defaultUpstream, type InferenceSection, type UpstreamSection } from "./config.ts";

/** One OpenAI-compatible server, ready to be asked. */
export interface UpstreamSettings {
  readonly name: string;
  /** Ends where `/models` and `/chat/completions` begin, e.g. `https://host/v1`. */
  readonly baseUrl: string;
  /** Undefined: the server asks for none. */
  readonly apiKey: string | undefined;
  readonly timeoutMs: number;
  /** Where the server may lie; elsewhere no connection is made. */
  readonly network: Network;
  /** Undefined: whatever the server lists, on the terms of {@link defaults}. */
  readonly models: readonly ChatModel[] | undefined;
  readonly defaults: Omit<ChatModel, "id">;
}

/** The upstreams, or everything that is wrong with them. */
export interface ResolvedUpstreams {
  readonly upstreams: readonly UpstreamSettings[];
  /** Sentences for the operator, each with the path of the setting. */
  readonly problems: readonly string[];
}

type Offer = InferenceSection["default_model"];

/** Joins the configuration file's `inference` part with the environment. No upstream and no problem: inference is off. */
export function resolveUpstreams(
  section: InferenceSection,
  env: Readonly<Record<string, string | undefined>>,
): ResolvedUpstreams {
  const entries = section.upstreams ?? (env["INFERENCE_BASE_URL"] ? [defaultUpstream()] : []);
  const defaults = termsOf(section.default_model);
  const upstreams: UpstreamSettings[] = [];
  const problems = offerProblems("inference.default_model", section.default_model);
  entries.forEach((entry, index) => {
    const path = `inference.upstreams[${index}]`;
    entry.models?.forEach((model, at) => problems.push(...offerProblems(`${path}.models[${at}]`, model)));
    const baseUrl = baseUrlOf(entry, env);
    if (baseUrl === undefined) {
      problems.push(
        `${path}: has no address; set the environment variable ${entry.base_url_env} to an http(s) URL, or base_url`,
      );
      return;
    }
    problems.push(...addressProblems(path, new URL(baseUrl), entry.network));
    upstreams.push({
      name: entry.name,
      baseUrl,
      apiKey: env[entry.api_key_env] || undefined,
      timeoutMs: entry.timeout_ms,
      network: entry.network,
      models: entry.models?.map((model) => ({ id: model.id, ...termsOf(model) })),
      defaults,
    });
  });
  return { upstreams, problems: [...problems, ...repeated(entries)] };
}

function baseUrlOf(entry: UpstreamSection, env: Readonly<Record<string, string | undefined>>): string | undefined {
  const url = entry.base_url ?? env[entry.base_url_env] ?? "";
  return URL.canParse(url) && /^https?:\/\//i.test(url) ? url.replace(/\/+$/, "") : undefined;
}

/** What is wrong with an address before anything is looked up. Whatever way it was written, a URL has it in its plain form. */
function addressProblems(path: string, { username, password, hostname }: URL, network: Network): string[] {
  const problems: string[] = [];
  if (username !== "" || password !== "")
    problems.push(
      `${path}: the address must not hold a user name or password; put the key into api_key_env's variable`,
    );
  const host = hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0 && !mayConnect(host, network))
    problems.push(`${path}: no upstream may be at ${hostname}${network === "public" ? " with network: public" : ""}`);
  return problems;
}

function termsOf(offer: Offer): Omit<ChatModel, "id"> {
  return {
    inputRate: offer.input_usd_per_million,
    outputRate: offer.output_usd_per_million,
    contextLength: offer.context_length,
    maxOutputTokens: offer.max_output_tokens,
    bytesPerToken: offer.bytes_per_token,
  };
}

function offerProblems(path: string, offer: Offer): string[] {
  return offer.max_output_tokens < offer.context_length
    ? []
    : [`${path}.max_output_tokens: must be less than context_length, or no prompt would fit`];
}

/** A model is bought by its id alone, so no two upstreams may offer the same. */
function repeated(entries: readonly UpstreamSection[]): string[] {
  const ids = entries.flatMap((entry) => (entry.models ?? []).map((model) => model.id));
  const twice = new Set(ids.filter((id, index) => ids.indexOf(id) !== index));
  return [...twice].map((id) => `inference.upstreams: the model ${JSON.stringify(id)} is offered twice`);
}
