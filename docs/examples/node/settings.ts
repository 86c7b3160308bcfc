// Reads the settings of the examples. A missing setting or an unreachable server is an error of one line.
const BESIDE_NPM_START = {
  TOOLGATE_URL: "base_url",
  TOOLGATE_GRPC: "grpc_address",
  TOOLGATE_KEY: "api_key",
  SOLANA_RPC_URL: "rpc_url",
} as const;

process.on("uncaughtException", (error: Error) => {
  const { cause } = error;
  const because =
    cause instanceof Error ? `: ${cause.message || ("code" in cause ? String(cause.code) : cause.name)}` : "";
  const refused = /ECONNREFUSED/.test(error.message + because) ? "; is it running? (npm start)" : "";
  const wallet = /ENOENT.*json/.test(error.message) ? "; set WALLET to the key file that pays" : "";
  console.error(`${error.message}${because}${refused}${wallet}`);
  process.exit(1);
});

/** Path of the key file that pays. */
export const { WALLET = "wallet.json" } = process.env;

/** Returns the values of these variables. Throws if one is not set. */
export function settings<Name extends keyof typeof BESIDE_NPM_START>(...names: Name[]): Record<Name, string>;
export function settings(...names: (keyof typeof BESIDE_NPM_START)[]): Record<string, string> {
  const values = names.map((name) => {
    const value = process.env[name] ?? "";
    if (value !== "") return [name, value] as const;
    const known = `node -p "require('./.toolgate/dev.json').${BESIDE_NPM_START[name]}"`;
    throw new Error(`${name} is not set. Beside npm start: export ${name}=$(${known})`);
  });
  return Object.fromEntries(values);
}
