import { AccountMoveEntity, MovedRunEntity } from "./account-move.ts";
import { AccountEntity } from "./account.ts";
import { ApiKeyEntity } from "./api-key.ts";
import { ArchiveMonthEntity, ArchiveUseEntity } from "./archive-month.ts";
import { AuditRestEntity, AuditSealEntity, AuditSumEntity } from "./audit-seal.ts";
import { BudgetEntity } from "./budget.ts";
import { ConfigVersionEntity } from "./config-version.ts";
import { DepositEntity } from "./deposit.ts";
import { IdempotencyEntity } from "./idempotency.ts";
import { JobRunEntity } from "./job-run.ts";
import { KeyUseEntity } from "./key-use.ts";
import { LeadershipEntity } from "./leadership.ts";
import { OperatorActionEntity } from "./operator-action.ts";
import { PaymentEntity } from "./payment.ts";
import { RateBucketEntity } from "./rate-bucket.ts";
import { RateTierEntity } from "./rate-tier.ts";
import { ReceiptEntity } from "./receipt.ts";
import { RelayBudgetEntity, RelayEntity } from "./relay.ts";
import { RequestLogEntity } from "./request-log.ts";
import { RevenueMarkEntity } from "./revenue-mark.ts";
import { RunEntity } from "./run.ts";
import { SandboxRunEntity } from "./sandbox-run.ts";
import { ApiKeySecretEntity, SealingKeyEntity, SigningKeyEntity } from "./sealing-key.ts";
import { SessionEntity, SignInChallengeEntity, UsedNonceEntity } from "./session.ts";
import { TransferEntity } from "./transfer.ts";
import { TreasuryMovementEntity } from "./treasury-movement.ts";
import { TreasuryWatchEntity } from "./treasury-watch.ts";
import { UnpaidWorkEntity } from "./unpaid-work.ts";
import {
  WebhookAttemptEntity,
  WebhookDeliveryEntity,
  WebhookEndpointEntity,
  WebhookEventEntity,
} from "./webhook.ts";
import { RunModelEntity, UsageMarkEntity, UsageSlotEntity } from "./usage.ts";

/** Every table, as MikroORM entities. */
export const ENTITIES = [
  AccountEntity,
  ApiKeyEntity,
  PaymentEntity,
  RunEntity,
  TransferEntity,
  ReceiptEntity,
  IdempotencyEntity,
  SealingKeyEntity,
  ApiKeySecretEntity,
  SigningKeyEntity,
  RateBucketEntity,
  RateTierEntity,
  TreasuryMovementEntity,
  TreasuryWatchEntity,
  LeadershipEntity,
  SandboxRunEntity,
  RelayEntity,
  RelayBudgetEntity,
  BudgetEntity,
  KeyUseEntity,
  SignInChallengeEntity,
  UsedNonceEntity,
  SessionEntity,
  DepositEntity,
  OperatorActionEntity,
  RevenueMarkEntity,
  UnpaidWorkEntity,
  ConfigVersionEntity,
  RequestLogEntity,
  AuditSealEntity,
  AuditSumEntity,
  WebhookEndpointEntity,
  WebhookEventEntity,
  WebhookDeliveryEntity,
  WebhookAttemptEntity,
  AccountMoveEntity,
  MovedRunEntity,
  RunModelEntity,
  UsageSlotEntity,
  UsageMarkEntity,
  JobRunEntity,
  AuditRestEntity,
  ArchiveMonthEntity,
  ArchiveUseEntity,
];
