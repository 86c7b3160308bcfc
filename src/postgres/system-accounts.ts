/** The ledger's own accounts. Their balances are sums of entries and stored nowhere, so that no row is touched by every call. */
export const SYSTEM_ACCOUNTS = {
  /** What the chain holds for us: debited by every deposit. */
  treasury: "00000000-0000-0000-0000-000000000001",
  /** What calls have earned: credited by every charge. */
  revenue: "00000000-0000-0000-0000-000000000002",
  /** Transfers that reached the treasury without an owner, until one is found. */
  suspense: "00000000-0000-0000-0000-000000000003",
  /** The other side of what an operator adds or takes. */
  adjustments: "00000000-0000-0000-0000-000000000004",
  /** The operator's own money: what the treasury held before its watch began, and what was taken out. */
  operator: "00000000-0000-0000-0000-000000000005",
} as const;
