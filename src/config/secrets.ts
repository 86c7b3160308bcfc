import { secretsOfHeader } from "../tools/custom/headers.ts";
import type { Config } from "./config.ts";

/** Shorter ones are no secrets, and would take words out of the log. */
const MIN_SECRET_LENGTH = 6;

/** A part of an RPC address's path that is as long as a key is. */
const MIN_PATH_KEY_LENGTH = 16;

/** Parameters of a database's address that hold one: `password`, `sslpassword` (libpq's names, which the driver takes too). */
const PASSWORD_PARAMETER = /password/i;

/** The settings that hold secrets. */
type SecretSettings = Pick<Config, "DATABASE_URL" | "SOLANA_RPC_URLS" | "upstreams"> &
  Partial<Pick<Config, "tools">>;

/** Every secret value of the configuration, as its log must not have it: passwords and keys, apart from the addresses that they stand in. */
export function collectSecrets({
  DATABASE_URL,
  SOLANA_RPC_URLS = [],
  upstreams,
  tools = [],
}: SecretSettings): string[] {
  const database = DATABASE_URL === undefined ? [] : databaseSecrets(new URL(DATABASE_URL));
  const rpcKeys = SOLANA_RPC_URLS.flatMap((text) => rpcSecrets(new URL(text)));
  const apiKeys = upstreams.flatMap(({ apiKey, headers }) => [
    ...(apiKey ? [apiKey] : []),
    ...Object.values(headers),
  ]);
  const headers = tools.flatMap((tool) => Object.values(tool.headers).flatMap(secretsOfHeader));
  const secrets = new Set([...database, ...rpcKeys, ...apiKeys, ...headers]);
  return [...secrets].filter((secret) => secret.length >= MIN_SECRET_LENGTH);
}

/** A parameter wins over what stands before the host, but both may be told. */
function databaseSecrets({ password, search }: URL): string[] {
  const parameters = parametersOf(search).filter(({ name }) => PASSWORD_PARAMETER.test(name));
  return [...formsOf(password), ...parameters.flatMap(({ value }) => formsOf(value))];
}

/** Providers put their keys into the user, the password, the query or the path; user and password are sent together (RFC 7617). */
function rpcSecrets({ username, password, search, pathname }: URL): string[] {
  const credentials = username === "" || password === "" ? "" : `${username}:${password}`;
  const values = parametersOf(search).map(({ value }) => value);
  const parts = pathname.split("/").filter((part) => part.length >= MIN_PATH_KEY_LENGTH);
  return [username, password, credentials, ...values, ...parts].flatMap(formsOf);
}

/** The parameters of a query, as they are written. */
function parametersOf(search: string): { name: string; value: string }[] {
  return search
    .slice(1)
    .split("&")
    .map((part) => ({ name: part.split("=", 1)[0] ?? "", value: part.slice(part.indexOf("=") + 1) }));
}

/** A part of an address as it is written, and as whoever reads the address may write it. */
function formsOf(text: string): string[] {
  return [text, decoded(text), decoded(text.replaceAll("+", " "))];
}

/** Without percent-encoding (RFC 3986 section 2.1); what is none stays. */
function decoded(text: string): string {
  return text.replaceAll(/(?:%[\da-f]{2})+/gi, (encoded) => {
    try {
      return decodeURIComponent(encoded);
    } catch {
      return encoded;
    }
  });
}
