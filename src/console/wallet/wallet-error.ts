/** A wallet's error with a message for the user. */
export class WalletError extends Error {
  readonly kind: "rejected" | "unable" | "account" | "failed";

  constructor(kind: WalletError["kind"], message: string, cause?: unknown) {
    super(message, { cause });
    this.name = "WalletError";
    this.kind = kind;
  }

  /**
   * Classifies a wallet's error by code (EIP-1193: 4001 is a rejection) and, for lack of a standard, by its
   * text.
   */
  static of(thrown: unknown, wallet: string): WalletError {
    if (thrown instanceof WalletError) return thrown;
    const text = thrown instanceof Error ? thrown.message : String(thrown);
    const code = typeof thrown === "object" && thrown !== null && "code" in thrown ? thrown.code : undefined;
    if (code === 4001 || /reject|denied|declin|cancel|refus|dismiss|closed/i.test(text))
      return new WalletError(
        "rejected",
        `You rejected the request in ${wallet}. Nothing was changed.`,
        thrown,
      );
    if (code === 4200 || /not supported|unsupported|not implemented|ledger|hardware/i.test(text))
      return new WalletError("unable", `${wallet} cannot do this with the chosen account: ${text}`, thrown);
    return new WalletError("failed", `${wallet} failed: ${text === "" ? "no error message" : text}`, thrown);
  }
}
