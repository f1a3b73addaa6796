"""Walks on pixels and saliency maps: closed forms, the core's own curve, captum and a second implementation."""

import numpy as np
import pytest
import torch
from captum.attr import LayerIntegratedGradients
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import gaussian_filter
from torch import nn

import insdel
from insdel_paper.studies import images
from insdel_paper.studies.images import saliency, walk
from insdel_paper.studies.images.network import SameConv2d

PREPROCESSING = images.Preprocessing((0.4, 0.5, 0.6), (0.2, 0.25, 0.3), 18, 16)


def tiny() -> images.Classifier:
    """A smooth network of three classes on small pictures, in double precision."""
    torch.manual_seed(0)
    first = SameConv2d(3, 5, 3, 2)
    body = nn.Sequential(first, nn.SiLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(80, 3))
    return images.Classifier(body, PREPROCESSING, "tiny").double()


def picture(seed: int = 0, size: int = 16) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).random((3, size, size)))


# --- walks


@given(st.integers(1, 400), st.integers(1, 400))
def test_counts_begin_at_zero_and_end_at_all_pixels(n, step):
    if step > n:
        with pytest.raises(ValueError, match="step must be"):
            walk.step_counts(n, step)
        return
    counts = walk.step_counts(n, step)
    assert counts[0] == 0 and counts[-1] == n
    assert (np.diff(counts)[:-1] == step).all() and 0 < np.diff(counts)[-1] <= step


@pytest.mark.parametrize("mode", ["insertion", "deletion"])
@pytest.mark.parametrize("batch", [1, 7, None])
def test_single_steps_are_the_cores_curve(mode, batch):
    """One channel's worth of features: the same walk by `insdel.curve`, pixel by pixel."""
    network, x, reference = tiny(), picture(), picture(1)
    scores = torch.from_numpy(np.random.default_rng(2).normal(size=(16, 16)))
    f = network.probability(1)
    found = images.pixel_walk(f, x, reference, scores, mode, step=1, batch=batch)

    def by_pixel(masks):
        return f(torch.where(masks.reshape(-1, 1, 16, 16) > 0.5, reference, x))

    expected = insdel.curve(by_pixel, torch.zeros(256), torch.ones(256), insdel.order(-scores.reshape(-1), mode))
    np.testing.assert_allclose(found["value"], expected, atol=1e-12)
    assert images.unit_auc(found) == pytest.approx(float(insdel.auc_unit(expected)), abs=1e-12)
    assert images.unit_abc(found, mode) == pytest.approx(float(insdel.abc(expected, mode, per_feature=True)), abs=1e-12)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 256), st.sampled_from(["insertion", "deletion"]))
def test_a_linear_curve_has_the_mean_of_its_ends_as_area_whatever_the_step(step, mode):
    """f counts the pixels left: its curve is the straight line, also over a shorter last step."""
    curve = images.pixel_walk(lambda z: z[:, 0].mean((1, 2)), torch.ones(3, 16, 16).double(),
                              torch.zeros(3, 16, 16).double(), torch.rand(16, 16), mode, step)  # fmt: skip
    assert images.unit_auc(curve) == pytest.approx(0.5, abs=1e-12)
    assert images.unit_abc(curve, mode) == pytest.approx(0.0, abs=1e-12)


def test_turning_the_ranking_round_swaps_the_two_tests():
    f, x, reference = tiny().probability(1), picture(), picture(1)
    scores = torch.from_numpy(np.random.default_rng(3).normal(size=(16, 16)))
    names = {"there": reference}
    one, _ = images.measure(f, x, names, scores, step=16)
    other, _ = images.measure(f, x, names, -scores, step=16)
    one, other = one.set_index("mode")["auc"], other.set_index("mode")["auc"]
    assert one["insertion"] == pytest.approx(other["deletion"], abs=1e-12)
    assert one["deletion"] == pytest.approx(other["insertion"], abs=1e-12)


def test_petsiuks_insertion_is_the_books_read_backwards():
    """Start at the reference and put the most salient pixels in: a loop of its own."""
    f, x, reference = tiny().probability(1), picture(), picture(1)
    scores = np.random.default_rng(4).normal(size=(16, 16))
    canvas, values = reference.clone(), [float(f(reference[None])[0])]
    for start in range(0, 256, 32):
        for pixel in np.argsort(-scores, axis=None, kind="stable")[start : start + 32]:
            canvas[:, pixel // 16, pixel % 16] = x[:, pixel // 16, pixel % 16]
        values.append(float(f(canvas[None])[0]))
    ours = images.pixel_walk(f, x, reference, scores, "insertion", step=32)["value"]
    np.testing.assert_allclose(ours.to_numpy()[::-1], values, atol=1e-12)


def test_frames_are_points_of_the_walk():
    f, x, reference, scores = tiny().probability(0), picture(), picture(1), picture(2)[0]
    curve = images.pixel_walk(f, x, reference, scores, "insertion", step=64)
    seen = images.frames(x, reference, scores, [0, 0.25, 0.5, 0.75, 1], "insertion")
    np.testing.assert_allclose(f(seen), curve["value"], atol=1e-12)
    assert torch.equal(seen[0], x) and torch.equal(seen[-1], reference)


def test_a_map_of_another_size_is_refused():
    with pytest.raises(ValueError, match="16 × 16 = 256"):
        images.pixel_walk(tiny().probability(0), picture(), picture(1), torch.rand(8, 8))


# --- references


def test_constant_references():
    network, x = tiny(), picture()
    for name, value in {"white": [1, 1, 1], "black": [0, 0, 0], "mean": PREPROCESSING.mean}.items():
        reference = images.reference_image(name, x, network)
        assert reference.shape == x.shape
        np.testing.assert_allclose(reference[:, 3, 4], value, rtol=1e-6)
    normalised = (images.reference_image("mean", x, network) - network.mean) / network.std
    assert normalised.abs().max() < 1e-6


def test_the_farthest_picture_is_nowhere_nearer_than_half():
    x = picture()
    far = images.reference_image("farthest", x, tiny())
    assert set(far.unique().tolist()) == {0.0, 1.0}
    assert ((far - x).abs() >= 0.5).all()
    assert ((far - x).abs() >= ((1 - far) - x).abs()).all()


def test_noise_has_the_networks_scale_and_its_seed():
    network, x = tiny(), torch.zeros(3, 100, 100).double()
    drawn = [images.reference_image("noise", x, network, seed) for seed in (0, 0, 1)]
    assert torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[0], drawn[2])
    np.testing.assert_allclose(drawn[0].mean((1, 2)), PREPROCESSING.mean, atol=0.02)
    np.testing.assert_allclose(drawn[0].std((1, 2)), PREPROCESSING.std, atol=0.02)


def test_blur_is_petsiuks_kernel():
    point = np.zeros((11, 11))
    point[5, 5] = 1
    kernel = gaussian_filter(point, 5)
    assert kernel.sum() == pytest.approx(1)
    image = torch.zeros(1, 3, 31, 31).double()
    image[..., 15, 15] = 1
    blurred = walk.blur(image, torch.zeros(3, 1, 1).double())
    np.testing.assert_allclose(blurred[0, 1, 10:21, 10:21], kernel, atol=1e-12)
    flat = walk.blur(torch.full((1, 3, 31, 31), 0.3).double(), torch.full((3, 1, 1), 0.3).double())
    np.testing.assert_allclose(flat, 0.3, atol=1e-12)  # beyond the edge lies the background's colour


def test_unknown_references_and_maps_are_refused():
    with pytest.raises(ValueError, match="blurred, mean, white"):
        images.reference_image("grey", picture(), tiny())
    with pytest.raises(ValueError, match="layer, integrated_gradients"):
        images.saliency_map("lrp", tiny(), 0, picture())
    for wrong, word in ((images.Settings(baselines=0), "baselines"), (images.Settings(masks=0), "masks")):
        with pytest.raises(ValueError, match=word):
            images.saliency_map("layer" if word == "baselines" else "rise", tiny(), 0, picture(), wrong)
    with pytest.raises(ValueError, match="stride"):
        images.saliency_map("occlusion", tiny(), 0, picture(), images.Settings(patch=20))


# --- saliency


@pytest.mark.parametrize(
    ("kind", "options"),
    [(SameConv2d, {}), (nn.Conv2d, {"padding": 1}), (nn.Conv2d, {}), (nn.Conv2d, {"padding": "valid"})],
)
@pytest.mark.parametrize("size", [16, 15])
def test_pixels_collect_the_windows_that_contain_them(kind, options, size):
    """Which windows see a pixel is asked of the convolution itself: change the pixel and look."""
    conv = kind(1, 1, 3, 2, **options).double()
    nn.init.constant_(conv.weight, 1.0)
    nn.init.zeros_(conv.bias)
    shape = conv(torch.zeros(1, 1, size, size).double()).shape[2:]
    parts = torch.from_numpy(np.random.default_rng(0).normal(size=shape))
    touched = conv(torch.eye(size * size).double().reshape(-1, 1, size, size))[:, 0]  # one pixel set in each
    expected = (touched * parts).sum((1, 2)).reshape(size, size)
    np.testing.assert_allclose(saliency.window_sums(parts, conv, size, size), expected.detach(), atol=1e-12)


def test_the_layer_map_is_what_our_own_line_integral_gives():
    """A loop over the points of three baselines: the path is straight in the outputs of the first convolution."""
    network, x = tiny(), picture()
    few = images.Settings(baselines=3, steps=12, seed=5)
    found = images.saliency_map("layer", network, 1, x, few)
    conv, rest = network.body[0], network.body[1:]
    total = torch.zeros(8, 8).double()
    for seed, shift in ((5, 0.5), (6, 0.5 + saliency.GOLDEN - 1), (7, 0.5 + 2 * saliency.GOLDEN - 1)):
        ends = [conv((z - network.mean) / network.std) for z in (walk.noise(1, x, network, seed), x[None])]
        for t in (np.arange(12) + shift) / 12:
            z = (ends[0] + t * (ends[1] - ends[0])).detach().requires_grad_()
            torch.softmax(rest(z), dim=1)[0, 1].backward()
            total += (z.grad * (ends[1] - ends[0])).sum(1)[0].detach() / 12 / 3
    np.testing.assert_allclose(found.scores, saliency.window_sums(total, conv, 16, 16), atol=1e-10)


def test_one_baseline_is_captums_layer_integrated_gradients():
    """The first baseline's points are the middles of equal pieces, captum's rule riemann_middle."""
    network, x = tiny(), picture()
    baseline = walk.noise(1, x, network, 5)
    method = LayerIntegratedGradients(network.probability(1), network.first)
    expected = method.attribute(x[None], baseline, n_steps=9, method="riemann_middle")[0].sum(dim=0)
    found = saliency.layer_parts(network, 1, x, baseline[0], images.Settings(steps=9, batch=4))
    np.testing.assert_allclose(found, expected.detach(), atol=1e-8)  # captum has its points in single precision


def test_shifted_points_cover_the_path_as_one_fine_rule_would():
    """∂/∂x of a steep step: two points on each of 50 paths miss far less than the same two points 50 times."""
    steep, start, end = (
        (lambda z: torch.sigmoid(60 * (z[:, 0, 0, 0] - 0.83))),
        torch.zeros(1, 1, 1),
        torch.ones(1, 1, 1),
    )
    two = images.Settings(steps=2)
    shifted = np.mean([float(saliency.path_parts(steep, start, end, two, index)) for index in range(50)])
    fixed = float(saliency.path_parts(steep, start, end, two, 0))
    assert abs(shifted - 1) < 0.05 < abs(fixed - 1)


@pytest.mark.parametrize("method", ["layer", "integrated_gradients"])
def test_integrated_gradients_are_complete(method):
    network, x = tiny(), picture()
    found = images.saliency_map(method, network, 0, x, images.Settings(baselines=1, steps=400))
    assert abs(found.gap) < 1e-6
    if method == "integrated_gradients":
        f = network.probability(0)
        change = float(f(x[None]) - f(walk.noise(1, x, network, 0)))
        assert float(found.scores.sum()) == pytest.approx(change, abs=1e-6)


def test_too_few_steps_show_in_the_gap():
    """With the same nodes both maps miss the same amount, because the first layer is linear."""
    gaps = [images.saliency_map(m, tiny(), 0, picture(), images.Settings(baselines=2, steps=1)).gap
            for m in ("layer", "integrated_gradients")]  # fmt: skip
    assert abs(gaps[0]) > 1e-6
    assert gaps[0] == pytest.approx(gaps[1], rel=1e-6)


def test_a_run_goes_on_where_it_was_killed(tmp_path, monkeypatch):
    few = images.Settings(baselines=3, steps=4, checkpoint=tmp_path)
    whole = images.saliency_map("layer", tiny(), 0, picture(), few)
    assert len(list(tmp_path.glob("*/*.parquet"))) == 3
    next(tmp_path.glob("*/*_0000001.parquet")).unlink()
    calls, plain = [], saliency.path_parts
    monkeypatch.setattr(saliency, "path_parts", lambda *given, **how: calls.append(given) or plain(*given, **how))
    again = images.saliency_map("layer", tiny(), 0, picture(), few)
    assert len(calls) == 1
    assert torch.equal(whole.scores, again.scores)
    images.saliency_map("layer", tiny(), 1, picture(), few)  # another class keeps files of its own
    assert len(calls) == 4 and len(list(tmp_path.glob("*/*.parquet"))) == 6


def patch_network() -> images.Classifier:
    """Its probability depends on the mean of one corner only."""

    class Corner(nn.Module):
        def forward(self, z):
            corner = z[:, :, :4, :4].mean((1, 2, 3))
            return torch.stack([corner, torch.zeros_like(corner)], dim=1)

    return images.Classifier(Corner(), PREPROCESSING, "corner").double()


@pytest.mark.parametrize("method", ["integrated_gradients", "gradient", "occlusion", "rise"])
def test_maps_find_the_only_corner_that_counts(method):
    network = patch_network()
    x = torch.ones(3, 16, 16).double()
    options = images.Settings(baselines=2, steps=10, masks=400, patch=4, stride=2)
    scores = images.saliency_map(method, network, 0, x, options).scores
    assert scores.shape == (16, 16)
    far = scores[8:, 8:]
    if method == "rise":  # an average over masks: far pixels keep the mean probability
        assert scores[:4, :4].mean() > far.mean() + 4 * far.std()
    else:
        assert scores[:4, :4].mean() > 0.001 and far.abs().max() < 1e-12


def test_occlusion_by_hand_and_its_last_square_ends_at_the_edge():
    network, x = tiny(), picture()
    f = network.probability(2)
    scores = images.saliency_map("occlusion", network, 2, x, images.Settings(patch=6, stride=4)).scores
    falls = np.zeros((16, 16)), np.zeros((16, 16))
    for top in (0, 4, 8, 10):
        for left in (0, 4, 8, 10):
            hidden = x.clone()
            hidden[:, top : top + 6, left : left + 6] = network.mean
            falls[0][top : top + 6, left : left + 6] += float(f(x[None]) - f(hidden[None]))
            falls[1][top : top + 6, left : left + 6] += 1
    np.testing.assert_allclose(scores, falls[0] / falls[1], atol=1e-12)


def test_the_gradient_is_torchs():
    network, x = tiny(), picture()
    z = x[None].clone().requires_grad_()
    network(z)[0, 1].backward()
    found = images.saliency_map("gradient", network, 1, x).scores
    np.testing.assert_allclose(found, z.grad[0].abs().sum(0), atol=1e-12)


def test_masks_of_rise_are_half_open_and_differ():
    masks = saliency.rise_masks(400, 30, 41, np.random.default_rng(0))
    assert masks.shape == (400, 30, 41)
    assert masks.min() >= 0 and masks.max() <= 1
    assert float(masks.mean()) == pytest.approx(0.5, abs=0.02)
    assert (masks[0] != masks[1]).any()


# --- speed


def test_speed_counts_pictures(monkeypatch):
    """Sixteen pictures, four at a time, at one second a call, after one that warms up."""
    now, sizes = [0.0], []

    def f(pile):
        now[0] += 1.0
        sizes.append(len(pile))
        return pile[:, 0, 0, 0]

    monkeypatch.setattr(walk, "read_clock", lambda: now[0])  # it waits for a GPU: see tests/gpu
    assert images.pictures_per_second(f, torch.zeros(3, 2, 2), 4) == 16 / 4
    assert sizes == [4] * 5
