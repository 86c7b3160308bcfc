/**
 * The ledger's own accounts. Their balances are computed from entries, so that no row is updated by every
 * call.
 */
export const SYSTEM_ACCOUNTS = {
  /** On-chain assets: debited by every deposit. */
  treasury: "00000000-0000-0000-0000-000000000001",
  /** Income from calls: credited by every charge. */
  revenue: "00000000-0000-0000-0000-000000000002",
  /** Transfers to the treasury without a known owner. */
  suspense: "00000000-0000-0000-0000-000000000003",
  adjustments: "00000000-0000-0000-0000-000000000004",
  /** The operator's own money: the treasury's opening balance and withdrawals. */
  operator: "00000000-0000-0000-0000-000000000005",
  /** Balances that moved to other cells, less those that came; zero over all cells. */
  clearing: "00000000-0000-0000-0000-000000000006",
} as const;
