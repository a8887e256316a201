//! Architecture families, by the names of models.

/// Parts of names that describe how a model was made and not its architecture.
const PREFIXES: [&str; 2] = ["tf", "test"];
/// Folder above the samples of collections. The folder of the library is below it.
const COLLECTION: &str = "samples";
/// Folder of models that have folders of classes next to them, or below them in the layout of earlier versions.
const CLASSES: &str = "transformers/";
/// Length of the shortest stem. Shorter stems are joined with the next part of the name: `rt` of `rt_detr` has no meaning.
const SHORTEST: usize = 3;

/// Returns the model from which a full graph was captured: its path without the parts for one piece, phase, configuration,
/// variant or task head of the model.
pub(super) fn model(path: &str) -> &str {
    let is_piece = |part: &str| {
        part.starts_with("subgraph_") || matches!(part, "train_forward" | "train_backward" | "eval_forward")
    };
    match path.rsplit_once('/') {
        Some((rest, part)) if is_piece(part) => model(rest),
        // In the layout of earlier versions, classes of a model type are below it: `transformers/bert/BertForMaskedLM`.
        Some((rest, _)) if rest.starts_with(CLASSES) && rest.len() > CLASSES.len() => model(rest),
        _ => without_class(without_variant(path)),
    }
}

/// Returns a path without the name of a class: `transformers/bert` for `transformers/bert-BertForMaskedLM`.
fn without_class(path: &str) -> &str {
    // Names of types have small letters only, and names of classes have a capital letter and no `-`.
    match path.rsplit_once('-') {
        Some((rest, class))
            if rest.starts_with(CLASSES)
                && rest.len() > CLASSES.len()
                && class.contains(|letter: char| letter.is_ascii_uppercase()) =>
        {
            rest
        }
        _ => path,
    }
}

/// Returns a path without the parts that `passnet extract` adds for fields of a configuration, and for a dtype, sizes of inputs,
/// training or decoding.
fn without_variant(path: &str) -> &str {
    let folder = path.rfind('/').map_or(0, |slash| slash + 1);
    // Fields come first: `bert-num_hidden_layers=2-1a2b3c4d-bfloat16-batch8-train`.
    if let Some(equals) = path[folder..].find('=')
        && let Some(dash) = path[folder..folder + equals].rfind('-')
    {
        return &path[..folder + dash];
    }
    let is_variant = |part: &str| {
        let is_size = |name| part.strip_prefix(name).is_some_and(|number: &str| number.parse::<u32>().is_ok());
        ["batch", "length", "size"].into_iter().any(is_size)
            || matches!(part, "float32" | "float16" | "bfloat16" | "train" | "decode")
    };
    match path.rsplit_once('-') {
        Some((rest, part)) if rest.len() > folder && is_variant(part) => without_variant(rest),
        _ => path,
    }
}

/// Returns the architecture family of a full graph, such as `resnet` for `timm/resnet18` and `torchvision/resnet50`.
///
/// The family is the beginning of the model's name up to the first digit or separator. This is an approximation: `vit` contains
/// models of several papers, and `seresnet` is another family than `resnet`.
pub(super) fn family(path: &str) -> String {
    let mut parts = model(path).split('/').filter(|part| *part != COLLECTION);
    // The first part of a path is the library. Models of `transformers-auto-model` are below the name of their organisation.
    let (library, name) = (parts.next().unwrap_or_default(), parts.next());
    let name = match (library, parts.next_back()) {
        ("transformers-auto-model", Some(last)) => last,
        _ => name.unwrap_or(library),
    }
    .to_lowercase();
    let mut words = name.split(['_', '-', '.', '@']).filter(|word| !word.is_empty()).peekable();
    while words.peek().is_some_and(|word| PREFIXES.contains(word)) {
        words.next();
    }
    let mut stem = String::new();
    for word in words {
        let digit = word.find(|letter: char| letter.is_ascii_digit());
        let letters = &word[..digit.unwrap_or(word.len())];
        // The `v` of `mobilenetv3` belongs to its version, that of `wav2vec2` does not.
        let versionless = letters.strip_suffix('v').filter(|rest| digit.is_some() && rest.len() >= SHORTEST);
        let letters = versionless.unwrap_or(letters);
        // In `t5` and `s3d`, the digit belongs to the name and is not a version.
        let word = if digit.is_some() && letters.len() < SHORTEST { word } else { letters };
        if !stem.is_empty() {
            stem.push('_');
        }
        stem.push_str(word);
        if stem.len() >= SHORTEST || digit.is_some() {
            break;
        }
    }
    if stem.is_empty() { name } else { stem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_configurations_variants_and_pieces_are_of_one_model() {
        for (path, expected) in [
            ("timm/resnet18", "timm/resnet18"),
            ("timm/resnet18-bfloat16-batch8-train/train_backward", "timm/resnet18"),
            ("transformers/bert/BertForMaskedLM", "transformers/bert"),
            ("transformers/bert/BertForMaskedLM-num_hidden_layers=2-1a2b3c4d/subgraph_0", "transformers/bert"),
            ("transformers/bert-BertForMaskedLM", "transformers/bert"),
            ("transformers/bert-BertForMaskedLM-num_hidden_layers=2-1a2b3c4d-batch2/subgraph_0", "transformers/bert"),
            ("transformers/xlm-roberta-XLMRobertaModel-length64-decode", "transformers/xlm-roberta"),
            ("transformers/xlstm-xLSTMModel-train/train_backward", "transformers/xlstm"),
            ("transformers/-Class", "transformers/-Class"),
            ("segmentation_models_pytorch/Unet-mit_B0", "segmentation_models_pytorch/Unet-mit_B0"),
            ("timm/resnet18-size96", "timm/resnet18"),
            ("transformers/wav2vec2-bert", "transformers/wav2vec2-bert"),
            ("transformers/wav2vec2-bert-num_hidden_layers=2-1a2b3c4d-train", "transformers/wav2vec2-bert"),
            ("samples/transformers-auto-model/google/bert-train", "samples/transformers-auto-model/google/bert"),
            ("own/batch8", "own/batch8"),
            ("-train", "-train"),
            ("a=b", "a=b"),
            ("", ""),
        ] {
            assert_eq!(model(path), expected, "{path}");
        }
    }

    #[test]
    fn sizes_versions_and_libraries_are_not_part_of_a_family() {
        for (path, expected) in [
            ("timm/resnet18", "resnet"),
            ("torchvision/resnet50", "resnet"),
            ("timm/tf_efficientnetv2_b2", "efficientnet"),
            ("torchvision/mobilenet_v3_small", "mobilenet"),
            ("timm/mobilenetv4_conv_medium", "mobilenet"),
            ("timm/vit_base_patch16_rope_224", "vit"),
            ("timm/test_vit", "vit"),
            ("transformers/t5", "t5"),
            ("transformers/gpt2", "gpt"),
            ("transformers/gpt_neox", "gpt"),
            ("transformers/rt_detr", "rt_detr"),
            ("transformers/wav2vec2-bert", "wav"),
            ("transformers/mimi/subgraph_39", "mimi"),
            ("transformers/llama-num_hidden_layers=2-train/train_backward", "llama"),
            ("transformers/rt_detr-RTDetrForObjectDetection", "rt_detr"),
            ("samples/transformers-auto-model/google/bert_uncased_L-2_H-128_A-2", "bert"),
            ("alone", "alone"),
            ("timm/", ""),
            ("", ""),
        ] {
            assert_eq!(family(path), expected, "{path}");
        }
    }
}
