import { isIP } from "node:net";
import path from "node:path";
import type { Scope } from "../../domain/accounts/scope.ts";
import { mayConnect, networkFor, type Guard } from "../../outbound/address-guard.ts";
import type {
  GrpcSection,
  HttpSection,
  McpSection,
  MeterSection,
  PriceSection,
  CustomToolSection,
  CustomToolsSection,
} from "./config.ts";
import type { SettingFiles } from "./setting-file.ts";
import { headerProblem, isTextMetadata } from "./headers.ts";

export type { GrpcSection, HttpSection, McpSection };

/** The operation behind a tool. */
export type Target =
  | { readonly kind: "http"; readonly section: HttpSection }
  | { readonly kind: "grpc"; readonly section: GrpcSection }
  | { readonly kind: "mcp"; readonly section: McpSection };

export interface CustomToolSettings {
  readonly name: string;
  /** Undefined: the server's own description. */
  readonly description: string | undefined;
  readonly price: PriceSection;
  /** Undefined: a result is charged its price. */
  readonly meter: MeterSection | undefined;
  readonly scope: Scope;
  readonly timeoutMs: number;
  readonly maxParamsBytes: number;
  readonly maxResponseBytes: number;
  /** Secret values from the environment. */
  readonly headers: Readonly<Record<string, string>>;
  readonly guard: Guard;
  /** Hosts of the addresses in the settings. */
  readonly hosts: readonly string[];
  readonly target: Target;
  /** Stored content of files that the target names. */
  readonly files: SettingFiles;
}

export interface ResolvedTools {
  readonly tools: readonly CustomToolSettings[];
  /** Messages for the operator, each with the path of the setting. */
  readonly problems: readonly string[];
}

export interface ConfigContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Base of relative paths of files that are not stored. */
  readonly folder: string;
  /** Stored files, by their path as written. */
  readonly files?: SettingFiles;
  readonly reservedNames: readonly string[];
}

/** Merges the `tools` section with the environment. */
export function resolveCustomTools(section: CustomToolsSection, surroundings: ConfigContext): ResolvedTools {
  const { files = {} } = surroundings;
  const isStored = (file: string) => Object.hasOwn(files, file);
  const problems: string[] = nameProblems(section, surroundings.reservedNames);
  const tools = section.map((entry, index) => {
    const at = `tools[${index}]`;
    const guard = { network: entry.network, allowHosts: new Set(entry.allow_hosts.map(hostOf)) };
    problems.push(...addressProblems(at, entry, guard));
    return {
      name: entry.name,
      description: entry.description,
      price: entry.price,
      meter: entry.meter,
      scope: entry.scope,
      timeoutMs: entry.timeout_ms,
      maxParamsBytes: entry.max_params_bytes,
      maxResponseBytes: entry.max_response_bytes,
      headers: headersOf(at, entry, surroundings.env, problems),
      guard,
      hosts: hostsOf(entry),
      target: targetOf(entry, (file) => (isStored(file) ? file : path.resolve(surroundings.folder, file))),
      files: Object.fromEntries(
        filesOf(entry)
          .filter(isStored)
          .map((file) => [file, files[file] ?? ""]),
      ),
    };
  });
  return { tools, problems };
}

function nameProblems(section: CustomToolsSection, taken: readonly string[]): string[] {
  const names = section.map(({ name }) => name);
  return names.flatMap((name, index) => {
    if (taken.includes(name))
      return [`tools[${index}].name: ${name} is a built-in tool; choose another name`];
    return names.indexOf(name) < index
      ? [`tools[${index}].name: ${name} is configured twice; choose another name`]
      : [];
  });
}

function headersOf(
  at: string,
  { headers_env, grpc }: CustomToolSection,
  env: ConfigContext["env"],
  problems: string[],
): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [header, variable] of Object.entries(headers_env)) {
    const value = env[variable] ?? "";
    const unfit = grpc && !isTextMetadata(header) ? "is not a valid name of gRPC text metadata" : undefined;
    const problem = headerProblem(header, variable, value) ?? unfit;
    if (problem === undefined) headers[header] = value;
    else problems.push(`${at}.headers_env.${header}: ${problem}`);
  }
  return headers;
}

/** Checks an address before any DNS lookup. */
function addressProblems(at: string, entry: CustomToolSection, guard: Guard): string[] {
  return addressesOf(entry).flatMap(({ member, url }) => {
    const { username, password, hostname } = url;
    const problems: string[] = [];
    if (username !== "" || password !== "")
      problems.push(
        `${at}.${member}: must not contain a user name or password; put secrets into headers_env`,
      );
    const host = hostOf(hostname);
    if (isIP(host) !== 0 && !mayConnect(host, networkFor(guard, host)))
      problems.push(
        mayConnect(host, "any")
          ? `${at}.${member}: ${host} is a private address; add it to allow_hosts if the server is your own`
          : `${at}.${member}: ${host} is not allowed`,
      );
    return problems;
  });
}

/** Returns the hosts of an entry's addresses, in the order of its settings. */
export function hostsOf(entry: CustomToolSection): string[] {
  return [...new Set(addressesOf(entry).map(({ url }) => hostOf(url.hostname)))];
}

function addressesOf({ http, grpc, mcp }: CustomToolSection): { member: string; url: URL }[] {
  const addresses = [
    { member: "http.openapi", text: http && isUrl(http.openapi) ? http.openapi : undefined },
    { member: "http.server_url", text: http?.server_url },
    { member: "grpc.address", text: grpc && `http://${grpc.address}` },
    { member: "mcp.url", text: mcp?.url },
  ];
  return addresses.flatMap(({ member, text }) => {
    const url = text === undefined ? null : URL.parse(text);
    return url ? [{ member, url }] : [];
  });
}

/** Files that an entry refers to, as written. */
export function filesOf({ http, grpc }: CustomToolSection): string[] {
  const openapi = http && !isUrl(http.openapi) ? [http.openapi] : [];
  const descriptorSet = grpc?.descriptor_set === undefined ? [] : [grpc.descriptor_set];
  const certificates = typeof grpc?.tls === "object" ? [grpc.tls.ca_file] : [];
  return [...openapi, ...descriptorSet, ...certificates];
}

function targetOf({ http, grpc, mcp }: CustomToolSection, resolve: (file: string) => string): Target {
  if (http) {
    const openapi = isUrl(http.openapi) ? http.openapi : resolve(http.openapi);
    return { kind: "http", section: { ...http, openapi } };
  }
  if (grpc) {
    const { descriptor_set, tls } = grpc;
    const section = {
      ...grpc,
      ...(descriptor_set !== undefined && { descriptor_set: resolve(descriptor_set) }),
      ...(typeof tls === "object" && { tls: { ca_file: resolve(tls.ca_file) } }),
    };
    return { kind: "grpc", section };
  }
  if (mcp) return { kind: "mcp", section: mcp };
  throw new TypeError("the schema asks for one of http, grpc and mcp");
}

/** Whether an OpenAPI document is at a URL and not in a file. */
export function isUrl(text: string): boolean {
  return /^https?:\/\//i.test(text);
}

/** Normalises a host as URL parsing does; IPv6 without brackets. */
export function hostOf(text: string): string {
  const bare = text.replace(/^\[|\]$/g, "");
  const written = isIP(bare) === 6 ? `[${bare}]` : bare;
  const hostname = URL.parse(`http://${written}/`)?.hostname ?? bare.toLowerCase();
  return hostname.replace(/^\[|\]$/g, "");
}
