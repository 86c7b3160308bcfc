const LAMPORTS = 1_000_000_000n;

/** Formats lamports as SOL, exactly: `1.5 SOL`, `0.000005 SOL`. */
export function formatSol(lamports: bigint): string {
  const decimals = (lamports % LAMPORTS).toString().padStart(9, "0").replace(/0+$/, "");
  return `${lamports / LAMPORTS}${decimals === "" ? "" : `.${decimals}`} SOL`;
}
