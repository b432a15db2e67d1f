"""The whole model once more, slowly and from the equations: one clip at a time, loops instead of batches.

Written from the paper and the notes on how it is read, to compare `epir.models.epir` with in float64.
"""

import torch


def layer_norm(x, weights, name):
    """Zero mean and unit deviation of each row, then gain and shift."""
    mean = x.mean(-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(-1, keepdim=True)
    return (x - mean) / (variance + 1e-5).sqrt() * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def linear(x, weights, name):
    return x @ weights[f"{name}.weight"].T + weights.get(f"{name}.bias", 0.0)


def gelu(x):
    return x * 0.5 * (1 + torch.erf(x / 2**0.5))


def normalised(clip):
    """Each channel (S, S) of a map with mean 0 and deviation 1."""
    channels = []
    for channel in clip:
        centred = channel - channel.mean()
        channels.append(centred / (centred**2).mean().sqrt().clamp(min=1e-6))
    return torch.stack(channels)


def moved(channel, down, right):
    """out[y, x] = channel[y - down, x - right], and 0 where that lies outside."""
    size = len(channel)
    out = torch.zeros_like(channel)
    for y in range(size):
        if 0 <= y - down < size:
            first, last = max(0, right), min(size, size + right)
            out[y, first:last] = channel[y - down, first - right : last - right]
    return out


def with_copies(clip, settings):
    """The channels of a map, and of its shifted copies where there are any."""
    channels = list(clip)
    if settings.tokenization != "plain":
        step = (settings.map_size if settings.shift == "map" else settings.patch) // 2
        for down, right in ((-step, step), (-step, -step), (step, -step), (step, step)):
            channels += [moved(channel, down, right) for channel in clip]
    return channels


def patch_tokens(clip, weights, settings):
    """Eq. 3-4: the map and its shifted copies, cut into patches, normed, and projected."""
    tokens, side, channels = [], settings.patch, with_copies(clip, settings)
    for row in range(settings.grid):
        for column in range(settings.grid):
            place = slice(row * side, (row + 1) * side), slice(column * side, (column + 1) * side)
            values = torch.cat([channel[place].flatten() for channel in channels])
            if settings.tokenization != "plain":
                values = layer_norm(values, weights, "patch_tokens.norm")
            token = linear(values, weights, "patch_tokens.project")
            if settings.tokenization == "shifted-dual":
                token = layer_norm(token, weights, "patch_tokens.second_norm")
            tokens.append(token)
    return tokens


def attend(tokens, weights, name, settings):
    """Eq. 10-12: mixed tokens (N, D), one weight matrix (N, N) per head, and the mean keys (N, W)."""
    count, width = len(tokens), settings.width // settings.heads
    qkv = linear(layer_norm(tokens, weights, f"{name}.attention_norm"), weights, f"{name}.attention.to_qkv")
    q, k, v = qkv.split(settings.heads * width, dim=1)
    mixed, matrices, keys = [], [], []
    for head in range(settings.heads):
        columns = slice(head * width, (head + 1) * width)
        rows = []
        for i in range(count):
            scores = k[:, columns] @ q[i, columns]
            if settings.attention == "plain":
                powers = (scores / width**0.5).exp()
            else:
                powers = (scores / weights[f"{name}.attention.temperature"][head].squeeze()).exp()
                powers = powers * torch.tensor([float(j != i) for j in range(count)])
            rows.append(powers / powers.sum())
        matrices.append(torch.stack(rows))
        mixed.append(matrices[-1] @ v[:, columns])
        keys.append(k[:, columns])
    out = linear(torch.cat(mixed, dim=1), weights, f"{name}.attention.to_out")
    return out, matrices, sum(keys) / settings.heads


def feed_forward(tokens, weights, name):
    hidden = gelu(linear(layer_norm(tokens, weights, f"{name}.feed_forward_norm"), weights, f"{name}.widen"))
    return linear(hidden, weights, f"{name}.narrow")


def merge_matrix(keys, pairs, held, *, merged_first=False):
    """Eq. 5-9: (N - pairs, N), and the patches that each token holds afterwards; token 0 is the class token."""
    count = len(keys)
    cosine = {}
    for a in range(1, count, 2):
        for b in range(2, count, 2):
            cosine[a, b] = float(keys[a] @ keys[b] / (keys[a].norm() * keys[b].norm()))
    partner = {}
    for a, b in sorted(cosine, key=lambda pair: -cosine[pair]):
        if len(partner) < pairs and a not in partner and b not in partner.values():
            partner[a] = b
    rows, holders = [], []
    order = list(range(count))
    if merged_first:  # Eq. 9: the class token, the merged tokens by their similarity, the others
        order = [0, *partner, *(token for token in order[1:] if token not in partner)]
    for token in order:
        if token in partner.values():
            continue
        row = torch.zeros(count)
        both = [token, partner[token]] if token in partner else [token]
        for each in both:
            row[each] = 1 / len(both)
        rows.append(row)
        holders.append(sorted(patch for each in both for patch in held[each]))
    return torch.stack(rows), holders


def all_tokens(clip, weights, settings):
    """The class token and those of one map (3, S, S) with their positions, (N, D)."""
    positions = weights["positions"][0]
    patches = patch_tokens(clip if settings.normalise == "none" else normalised(clip), weights, settings)
    tokens = [weights["class_token"][0, 0] + positions[0]]
    tokens += [patch + position for patch, position in zip(patches, positions[1:], strict=True)]
    return torch.stack(tokens)


def answer(clip, weights, settings):
    """Features, selected tokens and patches of each token, for one map (3, S, S)."""
    tokens = all_tokens(clip, weights, settings)
    held = [["class"], *([patch] for patch in range(len(tokens) - 1))]
    blocks = [*settings.pairs, *[0] * settings.extractor_blocks]
    identity = torch.eye(len(tokens))
    rollout, extractor = [identity] * settings.heads, None
    for number, pairs in enumerate(blocks):
        mixed, matrices, keys = attend(tokens, weights, f"blocks.{number}", settings)
        has_residual = settings.first_residual or number != settings.integration_blocks  # Eq. 13
        tokens = tokens + mixed if has_residual else mixed
        if number >= settings.integration_blocks:
            before = extractor or [torch.eye(len(tokens))] * settings.heads
            extractor = [matrix @ product for matrix, product in zip(matrices, before, strict=True)]
        rollout = [matrix.detach() @ product for matrix, product in zip(matrices, rollout, strict=True)]
        if pairs:
            merge, held = merge_matrix(keys.detach(), pairs, held, merged_first=settings.merged_first)
            tokens = merge @ tokens
            rollout = [merge @ product for product in rollout]
        tokens = tokens + feed_forward(tokens, weights, f"blocks.{number}")
    selected = []
    for head in range(settings.heads):
        if settings.rollout == "extractor":
            scores = extractor[head][0, 1:].detach()
        else:
            scores = torch.stack([sum(rollout[head][0, 1 + patch] for patch in patches) for patches in held[1:]])
        selected.append(int(scores.argmax()))
    if settings.selection:
        tokens = torch.stack([tokens[0], *(tokens[1 + token] for token in selected)])
    mixed, _, _ = attend(tokens, weights, "last_block", settings)
    tokens = tokens + mixed
    tokens = tokens + feed_forward(tokens, weights, "last_block")
    return (
        tokens if settings.readout == "all" else tokens[:1],
        selected,
        held[1:],
        torch.stack([product[0, 1:] for product in rollout]),
    )


def logits_of(tokens, weights, settings):
    """Eq. 21: the mean over the tokens of what the last layer says of each."""
    normed = [layer_norm(token, weights, "head_norm") if settings.head_norm else token for token in tokens]
    return sum(linear(token, weights, "head") for token in normed) / len(normed)


def loss_of(features, labels, weights, settings):
    """Eq. 22-23: cross-entropy and, with selection, the contrastive loss."""
    total, batch = torch.zeros(()), len(labels)
    for tokens, label in zip(features, labels, strict=True):
        scores = logits_of(tokens, weights, settings)
        total = total + (scores.exp().sum().log() - scores[label]) / batch
    if settings.selection:
        unit = [tokens[0] / tokens[0].norm() for tokens in features]  # the class token of each clip
        for i in range(batch):
            for j in range(batch):
                cosine = unit[i] @ unit[j]
                same = labels[i] == labels[j]
                cost = 1 - cosine if same else (cosine - settings.margin).clamp(min=0)
                total = total + settings.contrastive * cost / batch**2
    return total
