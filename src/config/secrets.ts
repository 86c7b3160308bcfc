import type { Config } from "./config.ts";

/** Shorter ones are no secrets, and would take words out of the log. */
const SHORTEST = 6;

/** A part of an RPC address's path that is as long as a key is. */
const PATH_KEY = 16;

/** Every secret value of the configuration, as its log must not have it: passwords and keys, apart from the addresses that they stand in. */
export function secretsIn({ DATABASE_URL, SOLANA_RPC_URLS = [], upstreams }: Config): string[] {
  const passwords = [DATABASE_URL, ...SOLANA_RPC_URLS].flatMap((text) => (text === undefined ? [] : passwordsOf(text)));
  const rpcKeys = SOLANA_RPC_URLS.flatMap(keysOf);
  const apiKeys = upstreams.flatMap(({ apiKey }) => apiKey ?? []);
  return [...passwords, ...rpcKeys, ...apiKeys].filter((secret) => secret.length >= SHORTEST);
}

function passwordsOf(text: string): string[] {
  const { password } = new URL(text);
  return password === "" ? [] : [password, decoded(password)];
}

/** Providers put their keys into the query or into the path. */
function keysOf(text: string): string[] {
  const { username, searchParams, pathname } = new URL(text);
  return [username, ...searchParams.values(), ...pathname.split("/").filter((part) => part.length >= PATH_KEY)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
