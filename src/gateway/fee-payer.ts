import { readFileSync, statSync } from "node:fs";
import { ConfigError, type Config } from "../config/config.ts";
import type { GaslessSponsor } from "../payments/gasless/index.ts";
import type { Findings } from "../postgres/database/start-checks.ts";
import { SolanaRelayChain } from "../solana/index.ts";
import type { SolanaRpc } from "../solana/rpc/rpc.ts";

/** Settings of the relay. */
export type FeePayerConfig = Pick<Config, "FEE_PAYER_KEYPAIR" | "MEMO_PREFIX" | "GASLESS_LOW_LAMPORTS"> &
  Partial<
    Pick<
      Config,
      "FEE_PAYER_SIGNER" | "FEE_PAYER_SIGNER_CA" | "FEE_PAYER_SIGNER_TOKEN" | "FEE_PAYER_SIGNER_TIMEOUT_MS"
    >
  > & {
    readonly TREASURY_OWNER: string;
  };

/** Permission bits of group and others. */
const OTHERS = 0o077;

const KEY_FILE_HINT = "set a key file of solana-keygen, or unset it to turn gasless off";

/**
 * Reads the fee payer's key, or asks its external signer. Errors never contain the file's content.
 * @returns undefined when the relay is off
 * @throws ConfigError when the file is invalid, or the signer does not answer
 */
export async function openSponsor(config: FeePayerConfig): Promise<GaslessSponsor | undefined> {
  const { FEE_PAYER_KEYPAIR: file, MEMO_PREFIX: memoPrefix, TREASURY_OWNER: treasuryOwner } = config;
  const { FEE_PAYER_SIGNER: signer, FEE_PAYER_SIGNER_CA: authority } = config;
  if (file === undefined && signer === undefined) return undefined;
  if (file !== undefined && signer !== undefined)
    throw new ConfigError(["FEE_PAYER_SIGNER: FEE_PAYER_KEYPAIR is set too; remove one of them"]);
  const { ExternalSigner, GaslessSponsor, readFeePayer } = await import("../payments/gasless/index.ts");
  try {
    if (file !== undefined)
      return new GaslessSponsor({
        feePayer: readFeePayer(readSetting("FEE_PAYER_KEYPAIR", file, KEY_FILE_HINT)),
        treasuryOwner,
        memoPrefix,
      });
    const feePayer = await ExternalSigner.open({
      url: signer ?? "",
      token: config.FEE_PAYER_SIGNER_TOKEN,
      ca:
        authority === undefined
          ? undefined
          : readSetting("FEE_PAYER_SIGNER_CA", authority, "set a file of PEM certificates"),
      timeoutMs: config.FEE_PAYER_SIGNER_TIMEOUT_MS ?? 2_000,
    });
    return new GaslessSponsor({ feePayer, setting: "FEE_PAYER_SIGNER", treasuryOwner, memoPrefix });
  } catch (error) {
    // Only the check's own message is safe; any other error may quote the key.
    throw error instanceof TypeError ? new ConfigError([error.message]) : error;
  }
}

/**
 * Checks that the fee payer can pay: the key is readable by its owner only and holds SOL.
 * @param rpc other checks report endpoint failures, so this one ignores them
 */
export async function checkFeePayer(
  config: FeePayerConfig,
  rpc: SolanaRpc,
  signal: AbortSignal,
): Promise<Findings> {
  const { FEE_PAYER_KEYPAIR: file, GASLESS_LOW_LAMPORTS: low } = config;
  try {
    const sponsor = await openSponsor(config);
    if (!sponsor) return { problems: [], warnings: [] };
    const setting = file === undefined ? "FEE_PAYER_SIGNER" : "FEE_PAYER_KEYPAIR";
    const warnings =
      file !== undefined && readableByOthers(file)
        ? [`FEE_PAYER_KEYPAIR: other users can read ${file}; run chmod 600 ${file}`]
        : [];
    const balance = await new SolanaRelayChain(rpc).balance(sponsor.feePayer, signal).catch(() => undefined);
    const holds = `${setting}: ${sponsor.feePayer} holds`;
    if (balance === 0n)
      return { problems: [`${holds} no SOL; send it some, or unset it to turn gasless off`], warnings };
    if (balance !== undefined && balance < BigInt(low)) {
      warnings.push(
        `${holds} ${balance} lamports, less than GASLESS_LOW_LAMPORTS (${low}); send it some SOL`,
      );
    }
    return { problems: [], warnings };
  } catch (error) {
    if (error instanceof ConfigError) return { problems: error.problems, warnings: [] };
    throw error;
  }
}

function readSetting(setting: string, file: string, hint: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unreadable";
    throw new ConfigError([`${setting}: ${file} cannot be read (${code}); ${hint}`]);
  }
}

function readableByOthers(file: string): boolean {
  return (statSync(file).mode & OTHERS) !== 0;
}
