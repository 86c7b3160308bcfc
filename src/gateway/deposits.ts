import type { DepositService } from "#gen/toolgate/console/v1/deposit_service_pb.ts";
import { AccountDeposits } from "../app/deposits/account-deposits.ts";
import { DepositTracker } from "../app/deposits/deposit-tracker.ts";
import { newEffectCache } from "../app/deposits/poll-deposit.ts";
import { newSettledTransactions, recordTransaction } from "../app/jobs/record-history.ts";
import type { Metrics } from "../app/operations/metrics.ts";
import type { ServeConfig } from "../config/config.ts";
import type { Quotes } from "../domain/payments/quote.ts";
import type { Log } from "../domain/core/log.ts";
import { signedPaymentReader } from "../payments/wallet/signed-payment.ts";
import type { Postgres } from "../postgres/index.ts";
import { lazyWalletPayments, SolanaDeposits, SolanaTreasury, type SolanaChain } from "../solana/index.ts";
import { systemClock, systemRandom } from "../system.ts";
import { depositService } from "../transport/services/deposits/deposit-service.ts";
import type { ServiceBinding } from "../transport/services/service-impl.ts";

/** Dependencies of the deposit service. */
export interface DepositParts {
  readonly config: Pick<ServeConfig, "CELL" | "MEMO_PREFIX" | "FINALIZED_ABOVE_MICROUSD">;
  readonly postgres: Pick<Postgres, "deposits" | "treasuryLedger" | "walletAccounts">;
  readonly chain: Pick<SolanaChain, "rpc" | "treasury">;
  readonly quotes: Quotes;
  readonly metrics: Metrics;
  readonly log: Log;
}

export function createDepositService(parts: DepositParts): ServiceBinding<typeof DepositService> {
  const { config, postgres, chain, quotes, metrics, log } = parts;
  const { rpc, treasury } = chain;
  const memoPrefix = config.MEMO_PREFIX;
  const evidence = { rpc, treasury, memoPrefix };
  const finalizedAbove = BigInt(config.FINALIZED_ABOVE_MICROUSD);
  const { deposits, treasuryLedger: ledger, walletAccounts: wallets } = postgres;
  // The same code path as the treasury watch, so a movement is recorded once.
  const recording = {
    chain: new SolanaTreasury({ ...evidence, finalizedAbove, log }),
    ledger,
    quotes,
    deposits,
    wallets,
    memoPrefix,
    settled: newSettledTransactions(),
    cell: config.CELL,
    metrics,
    log,
  };
  const tracker = new DepositTracker({
    chain: new SolanaDeposits(evidence),
    deposits,
    record: (txSignature, signal) => recordTransaction(recording, txSignature, signal),
    effects: newEffectCache(),
    memoPrefix,
    clock: systemClock,
  });
  const accountDeposits = new AccountDeposits({
    deposits,
    tracker,
    payments: lazyWalletPayments(rpc, treasury),
    readSigned: signedPaymentReader({ payTo: treasury.tokenAccount, memoPrefix }),
    quotes,
    memoPrefix,
    clock: systemClock,
    random: systemRandom,
    cell: config.CELL,
  });
  return depositService({ deposits: accountDeposits, treasury, memoPrefix });
}
