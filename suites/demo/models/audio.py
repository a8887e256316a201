"""Speech models of the demo suite."""

import torch
import transformers


def wav2vec2(batch=1, size=4000):
    """Raw samples through a convolutional front end with group normalisation and a transformer encoder."""
    config = transformers.Wav2Vec2Config(
        hidden_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=1024,
        conv_dim=(128,) * 7,
        attn_implementation="eager",
    )
    return transformers.Wav2Vec2Model(config), (torch.randn(batch, size),)


def whisper_encoder(batch=1, size=100):
    config = transformers.WhisperConfig(
        d_model=256,
        encoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=1024,
        max_source_positions=size,
        attn_implementation="eager",
    )
    model = transformers.WhisperModel(config).get_encoder()
    return model, (torch.randn(batch, config.num_mel_bins, 2 * size),)


def conformer(batch=1, size=4000):
    """Convolution-augmented transformer with gated linear units."""
    config = transformers.Wav2Vec2ConformerConfig(
        hidden_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=1024,
        conv_dim=(128,) * 7,
        position_embeddings_type="rotary",
    )
    return transformers.Wav2Vec2ConformerModel(config), (torch.randn(batch, size),)
