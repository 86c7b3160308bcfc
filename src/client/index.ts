export { CallError } from "./call-error.ts";
export {
  BudgetExceededError,
  PaymentNotMadeError,
  PaymentRefusedError,
  PaymentStoreError,
  PaymentUnsettledError,
  PriceTooHighError,
  ToolgateClientError,
  UnsupportedOfferError,
  type MoneyIs,
  type PaymentSummary,
} from "./errors.ts";
export {
  PaidBy,
  ReceiptStatus,
  RunStatus,
  ToolStatus,
  type Receipt,
  type Run,
  type Tool,
} from "./messages.ts";
export { type PaymentMethod, type PaymentOptions } from "./options.ts";
export { paymentOf, type Payment } from "./payment.ts";
export { type PaymentState } from "./payment-record.ts";
export { payingFetch } from "./paying-fetch.ts";
export { listPayments, resumePayments, type Resumed, type ResumeOptions } from "./resume-payments.ts";
export {
  keypairSigner,
  standardWalletSigner,
  walletSigner,
  type AdapterWallet,
  type BytesSigner,
  type Signer,
  type StandardWallet,
  type TransactionSigner,
} from "./signer.ts";
export { memoryStore, type PaymentStore, type StoredValue } from "./store.ts";
export {
  ToolgateClient,
  type CallToolOptions,
  type CallToolResult,
  type ListOptions,
  type Price,
  type RequestOptions,
  type ToolgateClientOptions,
} from "./toolgate-client.ts";
export { type WalletKey } from "./wallet-calls.ts";
export { decimalUsdc, type Usdc } from "./usdc.ts";
export { webStorageStore, type Locks, type WebStorage } from "./web-storage-store.ts";
