export interface ShownWallet {
  /** Name of the page function that calls the wallet in the test process. */
  readonly binding: string;
  readonly name: string;
  readonly abilities: readonly string[];
  readonly address: string;
  readonly publicKey: readonly number[];
}

/** The browser globals used here: tests compile without DOM types. */
interface PageGlobals {
  readonly location: { readonly host: string };
  addEventListener(type: string, listener: (event: { readonly detail: unknown }) => void): void;
  dispatchEvent(event: object): void;
  readonly CustomEvent: new (type: string, init: { detail: unknown }) => object;
  readonly [binding: string]: unknown;
}

type Api = { readonly register: (wallet: object) => void };
type Answers = Readonly<Record<string, readonly number[]>>;

/**
 * Registers a wallet as an extension does (Wallet Standard). Runs in the page before its scripts and may use
 * nothing from outside.
 */
export function registerWallet({ binding, name, abilities, address, publicKey }: ShownWallet): void {
  const page = globalThis as unknown as PageGlobals;
  const chain = "solana:mainnet";
  const account = {
    address,
    publicKey: Uint8Array.from(publicKey),
    chains: [chain],
    features: abilities.map((ability) => `solana:${ability}`),
  };
  const ask = async (ability: string, argument: unknown) => {
    const answers = await (page[binding] as (ability: string, argument: unknown) => Promise<Answers>)(
      ability,
      argument,
    );
    return Object.fromEntries(
      Object.entries(answers).map(([member, bytes]) => [member, Uint8Array.from(bytes)]),
    );
  };
  const askAll = (ability: string, member: string) => ({
    version: "1.0.0",
    supportedTransactionVersions: ["legacy", 0],
    [ability]: (...inputs: readonly Readonly<Record<string, Uint8Array>>[]) =>
      Promise.all(inputs.map((input) => ask(ability, [...(input[member] ?? [])]))),
  });
  const all: Record<string, object> = {
    "solana:signIn": {
      version: "1.0.0",
      signIn: async (input: object = {}) => [
        { account, ...(await ask("signIn", { domain: page.location.host, ...input })) },
      ],
    },
    "solana:signMessage": askAll("signMessage", "message"),
    "solana:signTransaction": askAll("signTransaction", "transaction"),
    "solana:signAndSendTransaction": askAll("signAndSendTransaction", "transaction"),
  };
  // A wallet exposes its account only once connected.
  let accounts: object[] = [];
  const wallet = {
    version: "1.0.0",
    name,
    icon: "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHZpZXdCb3g9IjAgMCAzMiAzMiI+PHJlY3Qgd2lkdGg9IjMyIiBoZWlnaHQ9IjMyIiByeD0iOCIgZmlsbD0iIzU1NGFmMCIvPjxjaXJjbGUgY3g9IjE2IiBjeT0iMTYiIHI9IjciIGZpbGw9IiNmZmYiLz48L3N2Zz4=",
    chains: [chain],
    get accounts() {
      return accounts;
    },
    features: {
      "standard:connect": {
        version: "1.0.0",
        connect: async () => {
          accounts = [account];
          return { accounts };
        },
      },
      "standard:events": { version: "1.0.0", on: () => () => undefined },
      ...Object.fromEntries(abilities.map((ability) => [`solana:${ability}`, all[`solana:${ability}`]])),
    },
  };
  const register = (api: unknown) => (api as Api).register(wallet);
  page.addEventListener("wallet-standard:app-ready", ({ detail }) => register(detail));
  page.dispatchEvent(new page.CustomEvent("wallet-standard:register-wallet", { detail: register }));
}
