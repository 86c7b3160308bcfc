import {
  plainArchitecture,
  type Architecture,
  type Experts,
  type LatentAttention,
  type Recurrent,
  type SlidingWindow,
} from "../architecture.ts";

/** A published model. */
export interface KnownModel extends Architecture {
  /** Its name on huggingface.co. */
  readonly id: string;
  /** All parameters, as the model's safetensors index counts them; without modules for predicting several tokens, which serving does not need. */
  readonly parameters: number;
  /** Tokens: max_position_embeddings, or the model card where it promises less. */
  readonly maxContext: number;
  /** Parameters that work on each token, in billions, as the model card says; mixtures of experts only. */
  readonly activeParametersB: number | undefined;
  /** The part of the parameters in an image encoder, whose own activations are not modelled. */
  readonly encoderParameters: number;
}

/** What only some models have. */
export interface Special {
  readonly tiedEmbeddings?: true;
  readonly slidingWindow?: SlidingWindow;
  readonly experts?: Experts;
  readonly latentAttention?: LatentAttention;
  readonly recurrent?: Recurrent;
  /** Where not all layers, or all but the recurrent ones, have attention. */
  readonly attentionLayers?: number;
  readonly feedForwardLayers?: number;
  /** Feed-forward networks of two matrices. */
  readonly ungated?: true;
  readonly gatedAttention?: true;
  readonly activeParametersB?: number;
  readonly encoderParameters?: number;
}

/** num_hidden_layers, hidden_size, num_attention_heads, num_key_value_heads, head_dim, intermediate_size, vocab_size. */
type Shape = readonly [number, number, number, number, number, number, number];

/** The values of a model's config.json at https://huggingface.co/<id>, and its count of parameters. */
export type Row = readonly [
  id: string,
  parameters: number,
  maxContext: number,
  shape: Shape,
  special?: Special,
];

/** Input and output embeddings are one matrix. */
export const TIED = { tiedEmbeddings: true } as const;

/** The model that a row describes. */
export function modelOf([id, parameters, maxContext, shape, special = {}]: Row): KnownModel {
  const [numLayers, hiddenSize, numHeads, numKvHeads, headDim, intermediateSize, vocabSize] = shape;
  const tiedEmbeddings = special.tiedEmbeddings ?? false;
  const plain = {
    numLayers,
    hiddenSize,
    numHeads,
    numKvHeads,
    headDim,
    intermediateSize,
    vocabSize,
    tiedEmbeddings,
  };
  return {
    ...plainArchitecture(plain),
    id,
    parameters,
    maxContext,
    slidingWindow: special.slidingWindow,
    experts: special.experts,
    latentAttention: special.latentAttention,
    recurrent: special.recurrent,
    attentionLayers: special.attentionLayers ?? numLayers - (special.recurrent?.layers ?? 0),
    feedForwardLayers: special.feedForwardLayers ?? numLayers,
    feedForwardMatrices: special.ungated ? 2 : 3,
    gatedAttention: special.gatedAttention ?? false,
    activeParametersB: special.activeParametersB,
    encoderParameters: special.encoderParameters ?? 0,
  };
}
