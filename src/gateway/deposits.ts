import type { DepositService } from "#gen/toolgate/console/v1/deposit_service_pb.ts";
import { AccountDeposits } from "../app/account-deposits.ts";
import { DepositLooks } from "../app/deposit-looks.ts";
import { newReadings } from "../app/look-at-deposit.ts";
import { newSettled, recordAwaited } from "../app/keeper/record-history.ts";
import type { Metrics } from "../app/metrics.ts";
import type { ServeConfig } from "../config/config.ts";
import type { Quotes } from "../domain/quote.ts";
import type { Logger } from "../log.ts";
import { signedPaymentReader } from "../payments/wallet/signed-payment.ts";
import type { Postgres } from "../postgres/index.ts";
import { lazyWalletPayments, SolanaDeposits, SolanaTreasury, type SolanaChain } from "../solana/index.ts";
import { systemClock, systemRandom } from "../system.ts";
import { depositService } from "../transport/services/deposit-service.ts";
import type { ServiceBinding } from "../transport/services/service-impl.ts";

/** What deposits are made of. */
export interface DepositParts {
  readonly config: Pick<ServeConfig, "MEMO_PREFIX" | "FINALIZED_ABOVE_MICROUSD">;
  readonly postgres: Pick<Postgres, "deposits" | "treasuryLedger">;
  readonly chain: Pick<SolanaChain, "rpc" | "treasury">;
  readonly quotes: Quotes;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** Makes the service of deposits. */
export function makeDepositService(parts: DepositParts): ServiceBinding<typeof DepositService> {
  const { config, postgres, chain, quotes, metrics, log } = parts;
  const { rpc, treasury } = chain;
  const memoPrefix = config.MEMO_PREFIX;
  const evidence = { rpc, treasury, memoPrefix };
  const finalizedAbove = BigInt(config.FINALIZED_ABOVE_MICROUSD);
  const { deposits, treasuryLedger: books } = postgres;
  // The keeper's own way, and what it books is booked once.
  const recording = {
    chain: new SolanaTreasury({ ...evidence, finalizedAbove, log }),
    books,
    quotes,
    deposits,
    memoPrefix,
    settled: newSettled(),
    metrics,
    log,
  };
  const looks = new DepositLooks({
    chain: new SolanaDeposits(evidence),
    deposits,
    record: (txSignature, signal) => recordAwaited(recording, txSignature, signal),
    readings: newReadings(),
    memoPrefix,
    clock: systemClock,
  });
  const accountDeposits = new AccountDeposits({
    deposits,
    looks,
    payments: lazyWalletPayments(rpc, treasury),
    readSigned: signedPaymentReader({ payTo: treasury.tokenAccount, memoPrefix }),
    quotes,
    memoPrefix,
    clock: systemClock,
    random: systemRandom,
  });
  return depositService({ deposits: accountDeposits, treasury, memoPrefix });
}
