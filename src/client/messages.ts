// The only import of generated messages. A relative path, because the compiler rewrites it for the published
// package.
export { ErrorBodySchema } from "../../gen/toolgate/v1/error_pb.ts";
export {
  PaymentRequiredSchema,
  type PaymentInstructions,
  type PaymentRequired,
} from "../../gen/toolgate/v1/payment_pb.ts";
export { PaidBy, ReceiptSchema, ReceiptStatus, type Receipt } from "../../gen/toolgate/v1/receipt_pb.ts";
export { ReceiptService } from "../../gen/toolgate/v1/receipt_service_pb.ts";
export { RunStatus, type Run } from "../../gen/toolgate/v1/run_pb.ts";
export { RunService } from "../../gen/toolgate/v1/run_service_pb.ts";
export { ToolStatus, type Tool } from "../../gen/toolgate/v1/tool_pb.ts";
export { ToolService, type GetCapabilitiesResponse } from "../../gen/toolgate/v1/tool_service_pb.ts";
