import { serverUrls } from "../domain/core/database-url.ts";
import { secretsOfHeader } from "../tools/custom/headers.ts";
import type { Config } from "./config.ts";

/** Shorter values are not secrets; redacting them would remove ordinary words from the log. */
const MIN_SECRET_LENGTH = 6;

/** Path segments of an RPC URL at least this long may be API keys. */
const MIN_PATH_KEY_LENGTH = 16;

/** `password` and `sslpassword`: libpq parameters that the driver accepts too. */
const PASSWORD_PARAMETER = /password/i;

/** Settings that may contain secrets. */
type SecretSettings = Pick<Config, "DATABASE_URL" | "SOLANA_RPC_URLS" | "upstreams"> &
  Partial<
    Pick<
      Config,
      | "tools"
      | "CELL_DATABASE_URLS"
      | "FEE_PAYER_SIGNER_TOKEN"
      | "OTEL_EXPORTER_OTLP_HEADERS"
      | "AWS_SECRET_ACCESS_KEY"
      | "AWS_SESSION_TOKEN"
    >
  >;

/**
 * Returns every secret value of the configuration for log redaction: passwords and keys without the URLs
 * around them.
 */
export function collectSecrets({
  DATABASE_URL,
  SOLANA_RPC_URLS = [],
  upstreams,
  tools = [],
  FEE_PAYER_SIGNER_TOKEN: signerToken,
  OTEL_EXPORTER_OTLP_HEADERS: collector = {},
  CELL_DATABASE_URLS: cells = new Map(),
  AWS_SECRET_ACCESS_KEY: archiveSecret,
  AWS_SESSION_TOKEN: archiveToken,
}: SecretSettings): string[] {
  const database = [DATABASE_URL ?? "", ...cells.values()]
    .flatMap((urls) => serverUrls(urls) ?? [])
    .flatMap((text) => databaseSecrets(new URL(text)));
  const rpcKeys = SOLANA_RPC_URLS.flatMap((text) => rpcSecrets(new URL(text)));
  const apiKeys = upstreams.flatMap(({ apiKey, headers }) => [
    ...(apiKey ? [apiKey] : []),
    ...Object.values(headers),
  ]);
  const headers = [collector, ...tools.map((tool) => tool.headers)].flatMap((one) =>
    Object.values(one).flatMap(secretsOfHeader),
  );
  const single = [signerToken, archiveSecret, archiveToken].filter((secret) => secret !== undefined);
  const secrets = new Set([...single, ...database, ...rpcKeys, ...apiKeys, ...headers]);
  return [...secrets].filter((secret) => secret.length >= MIN_SECRET_LENGTH);
}

/** Both the user-info password and the parameter may appear in errors. */
function databaseSecrets({ password, search }: URL): string[] {
  const parameters = parametersOf(search).filter(({ name }) => PASSWORD_PARAMETER.test(name));
  return [...formsOf(password), ...parameters.flatMap(({ value }) => formsOf(value))];
}

/**
 * Providers put keys into user, password, query or path. Basic authentication sends user and password
 * together (RFC 7617).
 */
function rpcSecrets({ username, password, search, pathname }: URL): string[] {
  const credentials = username === "" || password === "" ? "" : `${username}:${password}`;
  const values = parametersOf(search).map(({ value }) => value);
  const parts = pathname.split("/").filter((part) => part.length >= MIN_PATH_KEY_LENGTH);
  return [username, password, credentials, ...values, ...parts].flatMap(formsOf);
}

/** Returns the query parameters as written, still percent-encoded. */
function parametersOf(search: string): { name: string; value: string }[] {
  return search
    .slice(1)
    .split("&")
    .map((part) => ({ name: part.split("=", 1)[0] ?? "", value: part.slice(part.indexOf("=") + 1) }));
}

/** Returns the text as written and in the forms a URL parser may produce. */
function formsOf(text: string): string[] {
  return [text, decoded(text), decoded(text.replaceAll("+", " "))];
}

/** Decodes percent-encoding (RFC 3986 section 2.1); leaves invalid sequences. */
function decoded(text: string): string {
  return text.replaceAll(/(?:%[\da-f]{2})+/gi, (encoded) => {
    try {
      return decodeURIComponent(encoded);
    } catch {
      return encoded;
    }
  });
}
